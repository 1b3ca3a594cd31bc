"""Pages in a browser, which its tests share: a package, since fixtures end with one."""

// @ts-check
/** The form that asks for a token. What is typed goes to the service alone, and is kept by no script. */

import { Refused, request } from "./ask.js";
import { html } from "../draw.js";

/**
 * @param {() => void} signedIn
 * @param {string} [reason]
 */
export function signIn(signedIn, reason = "") {
  const field = html("input", {
    type: "password",
    id: "token",
    name: "token",
    autocomplete: "current-password",
    autocapitalize: "off",
    spellcheck: "false",
    required: true,
    maxlength: 8192, // a token has 60 letters, a JWT has thousands
    placeholder: "fl_…",
    "aria-describedby": "told",
  });
  const told = html("p", { id: "told", role: "alert", class: "warning", hidden: !reason }, reason);
  const button = html("button", { type: "submit" }, "Sign in");

  /** @param {Event} event */
  async function send(event) {
    event.preventDefault();
    button.disabled = told.hidden = true; // what was said is of the last try
    const token = field.value.trim();
    try {
      await request("POST", "/v1/session", { body: { token } });
      field.value = "";
      signedIn();
    } catch (error) {
      told.textContent = error instanceof Refused ? `${error.message}.` : "The service is away. Try again.";
      told.hidden = false;
      field.select();
      field.focus();
    } finally {
      button.disabled = false;
    }
  }

  return html(
    "form",
    { class: "sign-in", onsubmit: send },
    html("h1", {}, "Sign in"),
    told,
    html("input", { type: "text", name: "username", autocomplete: "username", value: "fairlead", hidden: true }), // for who keeps passwords
    html("label", { for: "token" }, "Token"),
    field,
    button,
    html(
      "p",
      { class: "soft" },
      "An administrator makes one with ",
      html("code", {}, "fairlead token create"),
      "; that of the first start is in the file ",
      html("code", {}, "admin-token"),
      " of the service's state folder.",
    ),
  );
}

-- A journal as version 1 of the schema kept it.
PRAGMA application_id = 1179404849;
PRAGMA user_version = 1;
CREATE TABLE journal_head (
        only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
        journal TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        link BLOB NOT NULL);
CREATE TABLE journal_entry (
        seq INTEGER PRIMARY KEY,
        step INTEGER NOT NULL,
        time INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        link BLOB NOT NULL);
CREATE TABLE journal_snapshot (
        seq INTEGER PRIMARY KEY,
        link BLOB NOT NULL,
        data BLOB NOT NULL);
INSERT INTO journal_head VALUES (1, '0123456789abcdef', 3, 6, x'cb0107850fa640918a266685f1946fa2');
INSERT INTO journal_entry VALUES (1, 0, 1000000000000000, 'task_finished', '{"job":"a","task":1}', x'2197bddf305e7d1192ced0458c15631a');
INSERT INTO journal_entry VALUES (2, 0, 1000000000000000, 'task_finished', '{"job":"a","task":2}', x'10882d0d56729ebf591f77d4b14aba50');
INSERT INTO journal_entry VALUES (3, 1, 1000000000000001, 'task_finished', '{"job":"a","task":3}', x'598052d2e5d28e6540486f12cda400d0');
INSERT INTO journal_entry VALUES (4, 1, 1000000000000001, 'task_finished', '{"job":"a","task":4}', x'4d50ca459dc49bca66b755e39ccb309e');
INSERT INTO journal_entry VALUES (5, 1, 1000000000000001, 'task_finished', '{"job":"a","task":5}', x'27da88bc7d15fd480fc0831325af1d14');
INSERT INTO journal_entry VALUES (6, 2, 1000000000000002, 'task_finished', '{"job":"a","task":6}', x'cb0107850fa640918a266685f1946fa2');
INSERT INTO journal_snapshot VALUES (4, x'4d50ca459dc49bca66b755e39ccb309e', x'78012bcf482c5148cb2f2d5248cd2b29ca4c2d56c84d4c49050061160862');

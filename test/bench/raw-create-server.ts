/**
 * The least that a durable create can be: node:http and SQLite with the same rows (user, change, audit with hash chain)
 * and group commit, without routing, rights, checks or forms. Arguments: the database file. Prints its port.
 */
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Database from "better-sqlite3";

const db = new Database(process.argv[2] as string);
for (const pragma of ["locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"]) db.pragma(pragma);
db.exec(`
  CREATE TABLE users (pk INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT, email TEXT UNIQUE COLLATE NOCASE,
    type TEXT, created_at INTEGER, updated_at INTEGER) STRICT;
  CREATE TABLE changes (seq INTEGER PRIMARY KEY, type TEXT, id TEXT, op TEXT, class TEXT, at INTEGER,
    UNIQUE (type, id)) STRICT;
  CREATE TABLE audit (seq INTEGER PRIMARY KEY, at INTEGER, actor TEXT, type TEXT, id TEXT, op TEXT, before TEXT,
    after TEXT, hash TEXT) STRICT;`);
const user = db.prepare("INSERT INTO users VALUES (NULL, ?, ?, ?, ?, ?, ?)");
const change = db.prepare("INSERT INTO changes VALUES (NULL, ?, ?, ?, ?, ?)");
const audit = db.prepare("INSERT INTO audit VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)");
let hash = "";
let waiting: (() => () => void)[] = [];

function drain(): void {
  const jobs = waiting;
  waiting = [];
  db.exec("BEGIN IMMEDIATE");
  const answers = jobs.map((job) => job());
  db.exec("COMMIT");
  for (const answer of answers) answer();
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const input = JSON.parse(Buffer.concat(parts).toString()) as { name: string; email: string };
    if (waiting.length === 0) setImmediate(drain);
    waiting.push(() => {
      const row = { id: randomUUID(), ...input, type: "regular", createdAt: Date.now() };
      user.run(row.id, row.name, row.email, row.type, row.createdAt, row.createdAt);
      change.run("users", row.id, "create", "B", row.createdAt);
      const after = JSON.stringify(row);
      hash = createHash("sha256").update(hash).update(after).digest("hex");
      audit.run(row.createdAt, "bench", "users", row.id, "create", null, after, hash);
      return () => {
        response.setHeader("content-type", "application/json");
        response.end(after);
      };
    });
  });
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));

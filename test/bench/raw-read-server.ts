/**
 * The least that reading can be: node:http and prepared statements of SQLite, without routing, tokens, rights or domains.
 * `GET /ID` answers a row, `GET /` the first hundred. Arguments: the database file, the number of rows. Prints its port
 * and an id, separated by a space.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Database from "better-sqlite3";

interface User {
  pk: number;
  id: string;
  name: string;
  email: string;
  created_at: number;
}

const db = new Database(process.argv[2] as string);
db.exec(
  "CREATE TABLE users (pk INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT, email TEXT, created_at INTEGER) STRICT",
);
const insert = db.prepare("INSERT INTO users VALUES (NULL, ?, ?, ?, ?)");
db.transaction(() => {
  for (let n = 0; n < Number(process.argv[3]); n++) {
    insert.run(randomUUID(), `User ${n}`, `user-${n}@example.org`, Date.now());
  }
})();
const one = db.prepare<[string], User>("SELECT * FROM users WHERE id = ?");
const hundred = db.prepare<[], User>("SELECT * FROM users ORDER BY name, id LIMIT 100");

/** As long as a user that the appliance shows. */
const shown = ({ id, name, email, created_at }: User) => ({
  ...{ id, name, email, type: "regular", isLocked: false, idleTimeout: null, domainId: id, selfRegistered: false },
  ...{ createdAt: new Date(created_at).toISOString(), updatedAt: new Date(created_at).toISOString() },
  permissions: ["get"],
});

const server = createServer((request, response) => {
  const id = request.url?.slice(1) ?? "";
  const body = id ? shown(one.get(id) as User) : { data: hundred.all().map(shown) };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(body));
});
const { id: known } = db.prepare("SELECT id FROM users LIMIT 1").get() as User;
server.listen(0, "127.0.0.1", () => console.log(`${(server.address() as AddressInfo).port} ${known}`));

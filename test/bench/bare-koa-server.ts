/** The least that a daemon of this kind can be: koa over an open database. Argument: the database file. Prints `ready`. */
import Database from "better-sqlite3";
import Koa from "koa";

const db = new Database(process.argv[2] as string);
db.pragma("journal_mode = WAL");
db.exec("CREATE TABLE IF NOT EXISTS users (pk INTEGER PRIMARY KEY, name TEXT) STRICT");
const count = db.prepare("SELECT count(*) FROM users").pluck();
const app = new Koa();
app.use((context) => {
  context.body = { users: count.get() };
});
app.listen(0, "127.0.0.1", () => console.log("ready"));

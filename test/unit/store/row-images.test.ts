import { expect, it } from "vitest";
import { openDatabase } from "../../../src/store/database.ts";
import { createRowImages } from "../../../src/store/row-images.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const PLACES = 90;

it("returns all rows in chunks by composite keys while others are written", () => {
  const db = openDatabase(makeTempDir());
  db.exec("CREATE TABLE store_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)");
  db.exec("CREATE TABLE counted (pk INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)");
  db.exec("CREATE TABLE seats (place TEXT, seat INTEGER, hue BLOB, PRIMARY KEY (place, seat)) STRICT, WITHOUT ROWID");
  const put = db.prepare("INSERT INTO seats VALUES (?, ?, x'00ff')");
  const keys: string[] = [];
  for (let place = 0; place < PLACES; place += 1)
    for (let seat = 0; seat < PLACES; seat += 1) {
      put.run(`row ${place}`, seat);
      keys.push(JSON.stringify([`row ${place}`, seat]));
    }
  const images = createRowImages(db, () => undefined);
  const found: string[] = [];
  for (const rows of images.all()) {
    expect(rows.length).toBeLessThanOrEqual(2_000);
    found.push(...rows.filter(({ table }) => table === "seats").map(({ key }) => key));
    // Nothing holds the database between two pages.
    db.exec("INSERT INTO counted (name) VALUES ('more')");
  }
  expect(found.toSorted()).toEqual(keys.toSorted());
  expect(images.find("seats", '["row 3",7]')).toBe('{"place":"row 3","seat":7,"hue":{"base64":"AP8="}}');
  expect([images.find("seats", '["row 3",700]'), images.find("store_meta", '["x"]')]).toEqual([null, undefined]);
  db.close();
});

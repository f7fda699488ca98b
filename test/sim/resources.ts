import { createCatalogue } from "../../src/schema/catalogue.ts";
import { file, json, many, ref, text } from "../../src/schema/field.ts";
import { defineResource } from "../../src/schema/resource.ts";

const shared = { scope: "organisation" } as const;

/** Cloud-owned, edited at the site, names unique. */
const rooms = defineResource({
  ...shared,
  name: "rooms",
  doc: "A room.",
  paths: [{ at: "rooms" }],
  idParam: "roomId",
  replicate: "B",
  fields: { name: text("Its name.", { max: 100, unique: true }), note: text("A remark.", { max: 100 }) },
});

/** Written by the cloud alone. */
const people = defineResource({
  ...shared,
  name: "people",
  doc: "A person.",
  paths: [{ at: "people" }],
  idParam: "personId",
  replicate: "A",
  fields: { note: text("A remark.", { max: 100 }) },
});

/** Refers to both, once by a list of ids. */
const lists = defineResource({
  ...shared,
  name: "lists",
  doc: "A list.",
  paths: [{ at: "lists" }],
  idParam: "listId",
  replicate: "B",
  fields: {
    note: text("A remark.", { max: 100 }),
    word: text("Another one.", { max: 100 }),
    roomId: ref("Where it is.", "rooms", { onDelete: "cascade" }),
    personIds: many("Who is on it.", "people", { maxItems: 20 }),
    sound: file("How it sounds.", ["*/*"]),
  },
});

/** State of a site. */
const panels = defineResource({
  ...shared,
  name: "panels",
  doc: "A panel.",
  paths: [{ at: "panels" }],
  idParam: "panelId",
  replicate: "C",
  fields: { note: text("A remark.", { max: 100 }) },
});

/** What happened at a site. */
const reports = defineResource({
  ...shared,
  name: "reports",
  doc: "A report.",
  paths: [{ at: "reports" }],
  idParam: "reportId",
  replicate: "D",
  fields: { note: text("A remark.", { max: 100 }), picture: file("What was seen.", ["*/*"]) },
});

/** What an appliance does about its link. */
const activities = defineResource({
  ...shared,
  name: "endpoint-activities",
  doc: "An activity.",
  paths: [{ at: "endpoint-activities" }],
  idParam: "activityId",
  replicate: "D",
  fields: {
    site: text("Whose it is.", { max: 100 }),
    type: text("What was done.", { max: 100 }),
    state: text("How far it got.", { max: 100 }),
    severity: text("How much it matters.", { max: 100 }),
    value: json("Particulars.", { maxBytes: 65_536 }),
  },
});

/** What a simulated organisation consists of: one resource of each kind that replication tells apart. */
export const CATALOGUE = createCatalogue([rooms, people, lists, panels, reports, activities]);

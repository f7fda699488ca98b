import type { ApiClient } from "../../src/api-client/api-client.ts";
import { eventually } from "./timeouts.ts";

interface Row {
  id: string;
}

const TSV = "text/tab-separated-values";

/** The PIN of the lockdown. */
export const LOCKDOWN_PIN = "2468";

/**
 * Situations of a school: a lockdown that asks, with a PIN and a plan, and a fire drill under way. Messages go to
 * `deviceGroupId`. Gives ids by name.
 */
export async function createSampleScenarios(api: ApiClient, deviceGroupId: string): Promise<Record<string, string>> {
  const post = (path: string, body: Record<string, unknown>) => api.post<Row>(path, body);
  const template = (name: string, more: Record<string, unknown>) =>
    post("/message-templates", { name, deviceGroupIds: [deviceGroupId], ...more });
  const doors = await template("Lock the doors", {
    ...{ subject: "Lockdown: {{which_door}}", body: "Somebody is at the {{which_door}} door." },
    ...{ alertTone: "lockdown" },
  });
  const leave = await template("Leave the building", { subject: "Fire: leave the building", alertTone: "silent" });
  const clear = await template("It is over", { subject: "It is over", followUp: true });
  const plan = await post("/incident-plans", {
    ...{ name: "Building in danger", description: "Count everybody. One person talks to the police." },
    messageTemplateIds: [clear.id],
  });
  await post(`/incident-plans/${plan.id}/resources`, {
    ...{ name: "Desk of the police", type: "hyperlink", hyperlink: "https://police.example/desk" },
  });
  const shared = { type: "standard", emergency: true, incidentPlanId: plan.id, phoneNumber: "+49 30 5550 110" };
  const lockdown = await post("/scenarios", {
    ...{ name: "Lockdown", description: "Somebody dangerous is in or near the building.", ...shared },
    ...{ backgroundColor: "#b01d24", icon: "lock", confirmationType: "pin", confirmationPin: LOCKDOWN_PIN },
    fields: [
      { name: "Which door?", variable: "which_door", type: "option", options: ["North", "Gym"], required: true },
    ],
    messages: [{ name: "To everybody", messageTemplateId: doors.id }],
    instructions: { step1: "Lock your own door.", step2: "Stay away from windows." },
  });
  const fire = await post("/scenarios", {
    ...{ name: "Fire", description: "Smoke or flames", ...shared, backgroundColor: "#c2410c", icon: "fire" },
    ...{ confirmationType: "prompt", customConfirm: "Does everybody have to leave the building?" },
    messages: [{ name: "To everybody", messageTemplateId: leave.id }],
  });
  const calm = { type: "standard", messages: [{ name: "To everybody", messageTemplateId: leave.id }] };
  await post("/scenarios", { name: "Medical help", backgroundColor: "#1d4f91", icon: "medical", ...calm });
  await post("/scenarios", { name: "Storm", backgroundColor: "#374151", icon: "storm", ...calm });
  const started = await api.post<{ incidentId: string }>("/scenario-notifications", {
    scenarioId: fire.id,
    drill: true,
  });
  const incident = started.incidentId;
  await post(`/incidents/${incident}/activities`, { type: "note", details: { message: "Room 214: 24 of 24." } });
  return { lockdown: lockdown.id, fire: fire.id, plan: plan.id, incident };
}

/** A table of zones with these names as it is uploaded. */
export function zoneTable(names: readonly string[]): string {
  const lines = names.map((name, at) =>
    [`zone:${name}`, `Zone ${name}`, `239.255.80.${at}`, 5_004, "PCMU", 1].join("\t"),
  );
  const members = ["Group", "Port", "Codec", "TTL"].map((name) => `attributes.${name}`);
  return [["deviceIdentifier", "description", ...members].join("\t"), ...lines, ""].join("\n");
}

/** A table of so many people, each on the list of a year. */
function peopleTable(count: number): string {
  const lines = Array.from({ length: count }, (_, at) => `p${at}@school.example\tPerson ${at}\tYear ${at % 3}`);
  return ["email\tname\tlists", ...lines, ""].join("\n");
}

/** A table that passed its try, one with a fault, and a source whose load stopped. Gives ids by name. */
export async function createSampleTables(api: ApiClient): Promise<Record<string, string>> {
  const source = await createSampleLoadSource(api);
  await api.post(`/load-definitions/${source}/runs`, {});
  await settled(api, `/load-definitions/${source}/runs`, "stopped");
  const goodTable = await upload(api, ["east", "west", "north"], "zones.tsv");
  await settled(api, "/bulk-uploads?sort=-createdAt", "success");
  const badTable = await upload(api, ["east", "east", "west"], "zones-again.tsv");
  await settled(api, "/bulk-uploads?sort=-createdAt", "ERROR");
  return { source, goodTable, badTable };
}

async function upload(api: ApiClient, names: readonly string[], fileName: string): Promise<string> {
  const { id } = await api.post<Row>("/bulk-uploads", { resourceType: "speakers", testMode: true });
  await api.upload(`/bulk-uploads/${id}/file`, new Blob([zoneTable(names)], { type: TSV }), fileName);
  return id;
}

/** Waits until the newest row of a list has come to a state. */
async function settled(api: ApiClient, path: string, state: string): Promise<void> {
  await eventually(async () => {
    const { data } = await api.get<{ data: { state?: string; status?: string }[] }>(path);
    return (data[0]?.state ?? data[0]?.status) === state;
  });
}

/** A source of 20 people, loaded once, whose file then has lost 12 of them. Gives its id. */
export async function createSampleLoadSource(api: ApiClient): Promise<string> {
  const { id } = await api.post<Row>("/load-definitions", { name: "Student information", type: "table" });
  const take = (count: number) =>
    api.upload(`/load-definitions/${id}/file`, new Blob([peopleTable(count)], { type: TSV }), "people.tsv");
  await take(20);
  await api.post(`/load-definitions/${id}/runs`, {});
  await settled(api, `/load-definitions/${id}/runs`, "complete");
  await take(8);
  return id;
}

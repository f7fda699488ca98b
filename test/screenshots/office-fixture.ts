import { type ApiClient, listAll } from "../../src/api-client/api-client.ts";

interface Row {
  id: string;
}

/**
 * What the pages about rights show beside the demo school: a part of the organisation, an office that may do some things
 * there and sends with one template alone, a group of a directory, a tile of the emergency button. Gives the ids that
 * addresses name.
 */
export async function createOfficeScreenshotData(api: ApiClient, templateId: string): Promise<Record<string, string>> {
  const post = (path: string, body: Record<string, unknown>) => api.post<Row>(path, body);
  const [teacher] = await listAll<Row & { name: string }>(api, "/users?name=Amara+Okafor");
  const [list] = await listAll<Row>(api, "/distribution-lists");
  const north = await post("/domains", { name: "North campus" });
  await post("/domains", { name: "South campus" });
  const office = await post("/security-groups", { name: "Front office" });
  const at = `/security-groups/${office.id}`;
  await post(`${at}/members`, { userId: teacher?.id });
  await post(`${at}/permissions`, { verb: "get", spec: "/users/*" });
  await post(`${at}/permissions`, { verb: "post", spec: "/notifications", domainId: north.id });
  await post(`${at}/allowed-message-templates`, { id: templateId });
  const staff = await post("/scim-groups", { name: "All staff", externalId: "S-1-5-21-1004" });
  await post(`/scim-groups/${staff.id}/members`, { userId: teacher?.id });
  await post(`${at}/scim-groups`, { scimGroupId: staff.id });
  await post(`/users/${teacher?.id}/devices`, {
    type: "email",
    name: "Work",
    deviceIdentifier: "amara@school.example",
  });
  await post(`/users/${teacher?.id}/tokens`, { name: "Timetable" });
  await post("/message-templates", {
    ...{ name: "Lockdown", subject: "Lock the doors, stay away from windows", alertTone: "lockdown" },
    metadata: { console: { emergency: true } },
  });
  return { teacher: teacher?.id ?? "", list: list?.id ?? "", north: north.id, office: office.id };
}

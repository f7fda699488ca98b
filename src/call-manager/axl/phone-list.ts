import type { Clock } from "../../base/clock.ts";
import { ClusterFault } from "../cluster-fault.ts";
import type { Phone } from "../reading.ts";
import { type AxlClient, element } from "./axl-client.ts";
import { readAll } from "./pages.ts";
import { asElement, type Element, listOf, textOf } from "./xml.ts";

/** What reading page by page needs. */
export interface PageNeeds {
  client: AxlClient;
  clock: Clock;
  signal: AbortSignal;
  /** Told how many rows each answer has. */
  onRows(rows: number): void;
}

/** Members of a phone that are asked for, in the schema's order. */
const TAGS = [
  ...["name", "description", "product", "model", "protocol", "callingSearchSpaceName", "devicePoolName"],
  ...["locationName", "authenticationUrl", "ownerUserName"],
];

/**
 * All phones of the database, without their lines, by identifier. Throws ClusterFault; `answer` when the list was changed
 * while it was read, twice: a page then repeats what another one had.
 */
export async function readPhones(needs: PageNeeds): Promise<Map<string, Phone>> {
  const asked = `<searchCriteria>${element("name", "SEP%")}</searchCriteria><returnedTags>${TAGS.map((tag) => `<${tag}/>`).join("")}</returnedTags>`;
  for (let tries = 0; ; tries++) {
    const phones = await readAll(async (skip, first) => {
      const answer = await needs.client.call("listPhone", asked + element("skip", skip) + element("first", first));
      const page = listOf(answer.phone).map(phoneOf);
      needs.onRows(page.length);
      return page;
    }, needs);
    const byName = new Map(
      phones.filter(({ name }) => /^SEP/i.test(name)).map((phone) => [phone.name.toUpperCase(), phone]),
    );
    if (byName.size === phones.length) return byName;
    if (tries === 1)
      throw new ClusterFault(
        "answer",
        `${needs.client.place} tells some phones twice: its list changes while it is read.`,
      );
  }
}

/** One phone with its lines; null when it is gone. Throws ClusterFault. */
export async function readPhone(client: AxlClient, uuid: string): Promise<Phone | null> {
  try {
    const answer = await client.call("getPhone", element("uuid", `{${uuid.toUpperCase()}}`));
    const told = asElement(answer.phone);
    if (!/^SEP/i.test(textOf(told.name))) return null;
    const lines = listOf(asElement(told.lines).line).map((line) => textOf(asElement(line.dirn).pattern));
    return { ...phoneOf(told), lines: lines.filter((line) => line !== "") };
  } catch (error) {
    // The words of a cluster for what is not there. @source AXL developer guide, faults
    if (error instanceof ClusterFault && error.code === "fault" && /not found/i.test(error.message)) return null;
    throw error;
  }
}

function phoneOf(told: Element): Phone {
  return {
    uuid: bareUuid(textOf(told["@uuid"])),
    name: textOf(told.name),
    description: textOf(told.description),
    product: textOf(told.product),
    model: textOf(told.model),
    protocol: textOf(told.protocol),
    devicePool: textOf(told.devicePoolName),
    callingSearchSpace: textOf(told.callingSearchSpaceName),
    location: textOf(told.locationName),
    owner: textOf(told.ownerUserName),
    authenticationUrl: textOf(told.authenticationUrl),
    lines: null,
  };
}

/** Identifiers stand in braces and capitals in one place, bare and small in another. */
export function bareUuid(text: string): string {
  return text.replace(/[{}]/g, "").toLowerCase();
}

/** Tables and columns from public examples, not seen on a real cluster. */
const LINES_SQL =
  "d.name AS device, m.numplanindex AS position, n.dnorpattern AS pattern FROM devicenumplanmap m " +
  "JOIN device d ON m.fkdevice = d.pkid JOIN numplan n ON m.fknumplan = n.pkid WHERE d.tkclass = 1 ORDER BY m.pkid";

/** Directory numbers by the name of their phone in capitals, in the order of the lines. Throws ClusterFault. */
export async function readLines(needs: PageNeeds): Promise<Map<string, string[]>> {
  const rows = await readAll(async (skip, first) => {
    const sql = `SELECT SKIP ${skip} FIRST ${first} ${LINES_SQL}`;
    const page = listOf((await needs.client.call("executeSQLQuery", element("sql", sql))).row);
    needs.onRows(page.length);
    return page.map((row) => ({
      device: textOf(row.device).toUpperCase(),
      position: Number(textOf(row.position)),
      pattern: textOf(row.pattern),
    }));
  }, needs);
  const lines = new Map<string, string[]>();
  for (const { device, pattern } of rows.sort((a, b) => a.position - b.position)) {
    const known = lines.get(device);
    if (known) known.push(pattern);
    else lines.set(device, [pattern]);
  }
  return lines;
}

/** Hosts of the nodes that process calls; where none is told so, all nodes. Throws ClusterFault; `nodes` when there is none. */
export async function readNodes(client: AxlClient): Promise<string[]> {
  const all = `<searchCriteria>${element("name", "%")}</searchCriteria>`;
  const managers = await client.call("listCallManager", `${all}<returnedTags><processNodeName/></returnedTags>`);
  let nodes = listOf(managers.callManager).map((each) => textOf(each.processNodeName));
  if (nodes.every((node) => node === "")) {
    const answer = await client.call("listProcessNode", `${all}<returnedTags><name/></returnedTags>`);
    // A row that stands for the cluster as a whole. @source AXL developer guide
    nodes = listOf(answer.processNode)
      .map((each) => textOf(each.name))
      .filter((name) => name !== "EnterpriseWideData");
  }
  const found = [...new Set(nodes.filter((node) => node !== ""))];
  if (found.length === 0) throw new ClusterFault("nodes", `${client.place} names no node that processes calls.`);
  return found;
}

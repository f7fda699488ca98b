import type { Clock } from "../../lib/clock.ts";
import { ClusterError } from "../cluster-error.ts";
import type { ClusterPhone } from "../cluster-types.ts";
import { type AxlClient, soapElement } from "./axl-client.ts";
import { readAllPages } from "./paging.ts";
import { asSoapElement, type SoapElement, soapChildren, textOfElement } from "./xml.ts";

/** What reading page by page needs. */
export interface PhoneListDeps {
  client: AxlClient;
  clock: Clock;
  signal: AbortSignal;
  /** Told how many rows each answer has. */
  onRows(rows: number): void;
}

/** Members of a phone that are asked for, in the schema's order. */
const RETURNED_TAGS = [
  ...["name", "description", "product", "model", "protocol", "callingSearchSpaceName", "devicePoolName"],
  ...["locationName", "authenticationUrl", "ownerUserName"],
];

/**
 * All phones of the database, without their lines, by identifier. Throws ClusterFault; `answer` when the list was changed
 * while it was read, twice: a page then repeats what another one had.
 */
export async function fetchPhones(needs: PhoneListDeps): Promise<Map<string, ClusterPhone>> {
  const asked = `<searchCriteria>${soapElement("name", "SEP%")}</searchCriteria><returnedTags>${RETURNED_TAGS.map((tag) => `<${tag}/>`).join("")}</returnedTags>`;
  for (let tries = 0; ; tries++) {
    const phones = await readAllPages(async (skip, first) => {
      const answer = await needs.client.call(
        "listPhone",
        asked + soapElement("skip", skip) + soapElement("first", first),
      );
      const page = soapChildren(answer.phone).map(toClusterPhone);
      needs.onRows(page.length);
      return page;
    }, needs);
    const byName = new Map(
      phones.filter(({ name }) => /^SEP/i.test(name)).map((phone) => [phone.name.toUpperCase(), phone]),
    );
    if (byName.size === phones.length) return byName;
    if (tries === 1)
      throw new ClusterError(
        "answer",
        `${needs.client.hostAndPort} tells some phones twice: its list changes while it is read.`,
      );
  }
}

/** One phone with its lines; null when it is gone. Throws ClusterFault. */
export async function fetchPhone(client: AxlClient, uuid: string): Promise<ClusterPhone | null> {
  try {
    const answer = await client.call("getPhone", soapElement("uuid", `{${uuid.toUpperCase()}}`));
    const told = asSoapElement(answer.phone);
    if (!/^SEP/i.test(textOfElement(told.name))) return null;
    const lines = soapChildren(asSoapElement(told.lines).line).map((line) =>
      textOfElement(asSoapElement(line.dirn).pattern),
    );
    return { ...toClusterPhone(told), lines: lines.filter((line) => line !== "") };
  } catch (error) {
    // The words of a cluster for what is not there. @source AXL developer guide, faults
    if (error instanceof ClusterError && error.code === "fault" && /not found/i.test(error.message)) return null;
    throw error;
  }
}

function toClusterPhone(told: SoapElement): ClusterPhone {
  return {
    uuid: normalizeUuid(textOfElement(told["@uuid"])),
    name: textOfElement(told.name),
    description: textOfElement(told.description),
    product: textOfElement(told.product),
    model: textOfElement(told.model),
    protocol: textOfElement(told.protocol),
    devicePool: textOfElement(told.devicePoolName),
    callingSearchSpace: textOfElement(told.callingSearchSpaceName),
    location: textOfElement(told.locationName),
    owner: textOfElement(told.ownerUserName),
    authenticationUrl: textOfElement(told.authenticationUrl),
    lines: null,
  };
}

/** Identifiers stand in braces and capitals in one place, bare and small in another. */
export function normalizeUuid(text: string): string {
  return text.replace(/[{}]/g, "").toLowerCase();
}

/** Tables and columns from public examples, not seen on a real cluster. */
const LINES_SQL =
  "d.name AS device, m.numplanindex AS position, n.dnorpattern AS pattern FROM devicenumplanmap m " +
  "JOIN device d ON m.fkdevice = d.pkid JOIN numplan n ON m.fknumplan = n.pkid WHERE d.tkclass = 1 ORDER BY m.pkid";

/** Directory numbers by the name of their phone in capitals, in the order of the lines. Throws ClusterFault. */
export async function fetchDirectoryNumbers(needs: PhoneListDeps): Promise<Map<string, string[]>> {
  const rows = await readAllPages(async (skip, first) => {
    const sql = `SELECT SKIP ${skip} FIRST ${first} ${LINES_SQL}`;
    const page = soapChildren((await needs.client.call("executeSQLQuery", soapElement("sql", sql))).row);
    needs.onRows(page.length);
    return page.map((row) => ({
      device: textOfElement(row.device).toUpperCase(),
      position: Number(textOfElement(row.position)),
      pattern: textOfElement(row.pattern),
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
export async function fetchNodes(client: AxlClient): Promise<string[]> {
  const all = `<searchCriteria>${soapElement("name", "%")}</searchCriteria>`;
  const managers = await client.call("listCallManager", `${all}<returnedTags><processNodeName/></returnedTags>`);
  let nodes = soapChildren(managers.callManager).map((each) => textOfElement(each.processNodeName));
  if (nodes.every((node) => node === "")) {
    const answer = await client.call("listProcessNode", `${all}<returnedTags><name/></returnedTags>`);
    // A row that stands for the cluster as a whole. @source AXL developer guide
    nodes = soapChildren(answer.processNode)
      .map((each) => textOfElement(each.name))
      .filter((name) => name !== "EnterpriseWideData");
  }
  const found = [...new Set(nodes.filter((node) => node !== ""))];
  if (found.length === 0) throw new ClusterError("nodes", `${client.hostAndPort} names no node that processes calls.`);
  return found;
}

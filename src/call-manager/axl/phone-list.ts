import type { Clock } from "../../lib/clock.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { ClusterError } from "../cluster-error.ts";
import type { ClusterPhone } from "../cluster-types.ts";
import { type AxlClient, soapElement } from "./axl-client.ts";
import { readAllPages } from "./paging.ts";
import { asSoapElement, type SoapElement, soapChildren, textOfElement } from "./xml.ts";

export interface PhoneListDeps {
  client: AxlClient;
  clock: Clock;
  signal: AbortSignal;
  /** Called with the number of rows of each response. */
  onRows(rows: number): void;
}

/** Requested members of a phone, in schema order. */
const RETURNED_TAGS = [
  ...["name", "description", "product", "model", "protocol", "callingSearchSpaceName", "devicePoolName"],
  ...["locationName", "authenticationUrl", "ownerUserName"],
];

/**
 * All phones of the database, without lines, by identifier. Throws ClusterError; `answer` if the list changed twice while it
 * was read, so that pages overlap.
 */
export async function fetchPhones(deps: PhoneListDeps): Promise<Map<string, ClusterPhone>> {
  const searchArgs = `<searchCriteria>${soapElement("name", "SEP%")}</searchCriteria><returnedTags>${RETURNED_TAGS.map((tag) => `<${tag}/>`).join("")}</returnedTags>`;
  for (let tries = 0; ; tries++) {
    const phones = await readAllPages(async (skip, first) => {
      const answer = await deps.client.call(
        "listPhone",
        searchArgs + soapElement("skip", skip) + soapElement("first", first),
      );
      const page = soapChildren(answer.phone).map(toClusterPhone);
      deps.onRows(page.length);
      return page;
    }, deps);
    const byName = new Map(
      phones.filter(({ name }) => /^SEP/i.test(name)).map((phone) => [phone.name.toUpperCase(), phone]),
    );
    if (byName.size === phones.length) return byName;
    if (tries === 1) throw new ClusterError("answer", sentence("cluster.changed", { host: deps.client.hostAndPort }));
  }
}

/** One phone with its lines; null if it does not exist. Throws ClusterError. */
export async function fetchPhone(client: AxlClient, uuid: string): Promise<ClusterPhone | null> {
  try {
    const answer = await client.call("getPhone", soapElement("uuid", `{${uuid.toUpperCase()}}`));
    const element = asSoapElement(answer.phone);
    if (!/^SEP/i.test(textOfElement(element.name))) return null;
    const lines = soapChildren(asSoapElement(element.lines).line).map((line) =>
      textOfElement(asSoapElement(line.dirn).pattern),
    );
    return { ...toClusterPhone(element), lines: lines.filter((line) => line !== "") };
  } catch (error) {
    // Fault text of a cluster for a missing object. @source AXL developer guide, faults
    if (error instanceof ClusterError && error.code === "fault" && /not found/i.test(error.message)) return null;
    throw error;
  }
}

function toClusterPhone(element: SoapElement): ClusterPhone {
  return {
    uuid: normalizeUuid(textOfElement(element["@uuid"])),
    name: textOfElement(element.name),
    description: textOfElement(element.description),
    product: textOfElement(element.product),
    model: textOfElement(element.model),
    protocol: textOfElement(element.protocol),
    devicePool: textOfElement(element.devicePoolName),
    callingSearchSpace: textOfElement(element.callingSearchSpaceName),
    location: textOfElement(element.locationName),
    owner: textOfElement(element.ownerUserName),
    authenticationUrl: textOfElement(element.authenticationUrl),
    lines: null,
  };
}

/** Identifiers come with braces in upper case or bare in lower case, depending on the operation. */
export function normalizeUuid(text: string): string {
  return text.replace(/[{}]/g, "").toLowerCase();
}

/** Tables and columns from public examples, not verified on a real cluster. */
const LINES_SQL =
  "d.name AS device, m.numplanindex AS position, n.dnorpattern AS pattern FROM devicenumplanmap m " +
  "JOIN device d ON m.fkdevice = d.pkid JOIN numplan n ON m.fknumplan = n.pkid WHERE d.tkclass = 1 ORDER BY m.pkid";

/** Directory numbers by phone name (upper case), in line order. Throws ClusterError. */
export async function fetchDirectoryNumbers(deps: PhoneListDeps): Promise<Map<string, string[]>> {
  const rows = await readAllPages(async (skip, first) => {
    const sql = `SELECT SKIP ${skip} FIRST ${first} ${LINES_SQL}`;
    const page = soapChildren((await deps.client.call("executeSQLQuery", soapElement("sql", sql))).row);
    deps.onRows(page.length);
    return page.map((row) => ({
      device: textOfElement(row.device).toUpperCase(),
      position: Number(textOfElement(row.position)),
      pattern: textOfElement(row.pattern),
    }));
  }, deps);
  const lines = new Map<string, string[]>();
  for (const { device, pattern } of rows.sort((a, b) => a.position - b.position)) {
    const known = lines.get(device);
    if (known) known.push(pattern);
    else lines.set(device, [pattern]);
  }
  return lines;
}

/** Hosts of the call-processing nodes; all nodes if none has that role. Throws ClusterError; `nodes` if the list is empty. */
export async function fetchNodes(client: AxlClient): Promise<string[]> {
  const all = `<searchCriteria>${soapElement("name", "%")}</searchCriteria>`;
  const managers = await client.call("listCallManager", `${all}<returnedTags><processNodeName/></returnedTags>`);
  let nodes = soapChildren(managers.callManager).map((each) => textOfElement(each.processNodeName));
  if (nodes.every((node) => node === "")) {
    const answer = await client.call("listProcessNode", `${all}<returnedTags><name/></returnedTags>`);
    // A row that represents the cluster as a whole. @source AXL developer guide
    nodes = soapChildren(answer.processNode)
      .map((each) => textOfElement(each.name))
      .filter((name) => name !== "EnterpriseWideData");
  }
  const found = [...new Set(nodes.filter((node) => node !== ""))];
  if (found.length === 0) throw new ClusterError("nodes", sentence("cluster.no-node", { host: client.hostAndPort }));
  return found;
}

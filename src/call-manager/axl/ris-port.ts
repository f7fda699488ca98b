import { type Clock, sleep } from "../../base/clock.ts";
import { ClusterFault } from "../cluster-fault.ts";
import type { Registration } from "../reading.ts";
import { type AxlClient, element } from "./axl-client.ts";
import { asElement, type Element, listOf, textOf } from "./xml.ts";

const PATH = "/realtimeservice2/services/RISService70";
const NAMESPACE = "http://schemas.cisco.com/ast/soap";
/** Devices in one question. @source RisPort70 documentation */
const MOST_NAMES = 1_000;
/** A cluster takes 15 questions a minute from all its clients together. @source RisPort70 documentation */
const PAUSE_MS = 4_500;

/**
 * What the cluster's own collection of registrations says of the phones named; the second source, since it is slower and
 * shared by all clients of the cluster. Throws ClusterFault.
 * @source RisPort70 documentation, selectCmDeviceExt
 */
export async function askRegistrations(
  client: AxlClient,
  names: readonly string[],
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<Registration[]> {
  const found: Registration[] = [];
  for (let at = 0; at < names.length; at += MOST_NAMES) {
    if (at > 0) await sleep(clock, PAUSE_MS, signal);
    const body = await client.post(PATH, "selectCmDeviceExt", question(names.slice(at, at + MOST_NAMES)));
    const result = resultIn(body);
    if (result === null)
      throw new ClusterFault("answer", `${client.place} answers the question for registrations with something else.`);
    for (const node of listOf(asElement(result.CmNodes).item)) {
      for (const device of listOf(asElement(node.CmDevices).item))
        found.push(registrationOf(device, textOf(node.Name)));
    }
  }
  return found;
}

function question(names: readonly string[]): string {
  const items = names.map((name) => `<soap:item>${element("soap:Item", name)}</soap:item>`).join("");
  const criteria =
    element("soap:MaxReturnedDevices", MOST_NAMES) +
    element("soap:DeviceClass", "Phone") +
    element("soap:Model", 255) +
    element("soap:Status", "Any") +
    "<soap:NodeName/>" +
    element("soap:SelectBy", "Name") +
    `<soap:SelectItems>${items}</soap:SelectItems>` +
    element("soap:Protocol", "Any") +
    element("soap:DownloadStatus", "Any");
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:soap="${NAMESPACE}">` +
    `<soapenv:Body><soap:selectCmDeviceExt><soap:StateInfo/><soap:CmSelectionCriteria>${criteria}</soap:CmSelectionCriteria>` +
    "</soap:selectCmDeviceExt></soapenv:Body></soapenv:Envelope>"
  );
}

/** The result lies two elements deep, whose names differ by release. */
function resultIn(body: Element): Element | null {
  for (const response of Object.values(body)) {
    for (const answer of Object.values(asElement(response))) {
      const result = asElement(answer).SelectCmDeviceResult;
      if (result !== undefined) return asElement(result);
    }
  }
  return null;
}

function registrationOf(device: Element, node: string): Registration {
  const [address] = listOf(asElement(device.IPAddress).item);
  const told = textOf(address?.IP) || textOf(device.IpAddress);
  return {
    name: textOf(device.Name),
    registered: /^(registered|partiallyregistered)$/i.test(textOf(device.Status)),
    address: told === "" || told === "0.0.0.0" ? null : told,
    at: Number(textOf(device.TimeStamp)) * 1_000 || 0,
    node,
  };
}

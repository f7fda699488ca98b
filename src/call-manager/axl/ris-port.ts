import { type Clock, sleep } from "../../lib/clock.ts";
import { ClusterError } from "../cluster-error.ts";
import type { PhoneRegistration } from "../cluster-types.ts";
import { type AxlClient, soapElement } from "./axl-client.ts";
import { asSoapElement, type SoapElement, soapChildren, textOfElement } from "./xml.ts";

const PATH = "/realtimeservice2/services/RISService70";
const NAMESPACE = "http://schemas.cisco.com/ast/soap";
/** Devices in one question. @source RisPort70 documentation */
const MAX_NAMES = 1_000;
/** A cluster takes 15 questions a minute from all its clients together. @source RisPort70 documentation */
const PAUSE_MS = 4_500;

/**
 * What the cluster's own collection of registrations says of the phones named; the second source, since it is slower and
 * shared by all clients of the cluster. Throws ClusterFault.
 * @source RisPort70 documentation, selectCmDeviceExt
 */
export async function queryRegistrations(
  client: AxlClient,
  names: readonly string[],
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<PhoneRegistration[]> {
  const found: PhoneRegistration[] = [];
  for (let at = 0; at < names.length; at += MAX_NAMES) {
    if (at > 0) await sleep(clock, PAUSE_MS, signal);
    const body = await client.post(PATH, "selectCmDeviceExt", queryEnvelope(names.slice(at, at + MAX_NAMES)));
    const result = findResult(body);
    if (result === null)
      throw new ClusterError(
        "answer",
        `${client.hostAndPort} answers the question for registrations with something else.`,
      );
    for (const node of soapChildren(asSoapElement(result.CmNodes).item)) {
      for (const device of soapChildren(asSoapElement(node.CmDevices).item))
        found.push(toPhoneRegistration(device, textOfElement(node.Name)));
    }
  }
  return found;
}

function queryEnvelope(names: readonly string[]): string {
  const items = names.map((name) => `<soap:item>${soapElement("soap:Item", name)}</soap:item>`).join("");
  const criteria =
    soapElement("soap:MaxReturnedDevices", MAX_NAMES) +
    soapElement("soap:DeviceClass", "Phone") +
    soapElement("soap:Model", 255) +
    soapElement("soap:Status", "Any") +
    "<soap:NodeName/>" +
    soapElement("soap:SelectBy", "Name") +
    `<soap:SelectItems>${items}</soap:SelectItems>` +
    soapElement("soap:Protocol", "Any") +
    soapElement("soap:DownloadStatus", "Any");
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:soap="${NAMESPACE}">` +
    `<soapenv:Body><soap:selectCmDeviceExt><soap:StateInfo/><soap:CmSelectionCriteria>${criteria}</soap:CmSelectionCriteria>` +
    "</soap:selectCmDeviceExt></soapenv:Body></soapenv:Envelope>"
  );
}

/** The result lies two elements deep, whose names differ by release. */
function findResult(body: SoapElement): SoapElement | null {
  for (const response of Object.values(body)) {
    for (const answer of Object.values(asSoapElement(response))) {
      const result = asSoapElement(answer).SelectCmDeviceResult;
      if (result !== undefined) return asSoapElement(result);
    }
  }
  return null;
}

function toPhoneRegistration(device: SoapElement, node: string): PhoneRegistration {
  const [address] = soapChildren(asSoapElement(device.IPAddress).item);
  const told = textOfElement(address?.IP) || textOfElement(device.IpAddress);
  return {
    name: textOfElement(device.Name),
    registered: /^(registered|partiallyregistered)$/i.test(textOfElement(device.Status)),
    address: told === "" || told === "0.0.0.0" ? null : told,
    at: Number(textOfElement(device.TimeStamp)) * 1_000 || 0,
    node,
  };
}

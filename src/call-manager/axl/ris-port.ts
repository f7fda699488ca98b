import { type Clock, sleep } from "../../lib/clock.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { ClusterError } from "../cluster-error.ts";
import type { PhoneRegistration } from "../cluster-types.ts";
import { type AxlClient, soapElement } from "./axl-client.ts";
import { asSoapElement, type SoapElement, soapChildren, textOfElement } from "./xml.ts";

const PATH = "/realtimeservice2/services/RISService70";
const NAMESPACE = "http://schemas.cisco.com/ast/soap";
/** Devices per request. @source RisPort70 documentation */
const MAX_NAMES = 1_000;
/** Rate limit: 15 requests a minute for all clients of a cluster together. @source RisPort70 documentation */
const PAUSE_MS = 4_500;

/**
 * Registrations of the named phones from the cluster's RisPort service. Fallback only: it is slower than SNMP and its rate
 * limit is shared by all clients. Throws ClusterError. @source RisPort70 documentation, selectCmDeviceExt
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
      throw new ClusterError("answer", sentence("cluster.risport-invalid", { host: client.hostAndPort }));
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

/** The result is two elements deep; their names differ by release. */
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
  const ipAddress = textOfElement(address?.IP) || textOfElement(device.IpAddress);
  return {
    name: textOfElement(device.Name),
    registered: /^(registered|partiallyregistered)$/i.test(textOfElement(device.Status)),
    address: ipAddress === "" || ipAddress === "0.0.0.0" ? null : ipAddress,
    at: Number(textOfElement(device.TimeStamp)) * 1_000 || 0,
    node,
  };
}

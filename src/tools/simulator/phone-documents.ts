import { FRAME_BYTES } from "./expected-audio.ts";
import { isReceiving, type SimulatorPhone } from "./phone.ts";
import { countReceivedPackets } from "./reception-analysis.ts";
import { packetLossOf, type SimulatorState } from "./simulator-state.ts";

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';

/**
 * Stream statistics page of a phone (/StreamingStatisticsX): packets received by the current or last stream; a mute phone
 * counts none. Element names as phones spell them, without those that the simulator does not measure.
 * @source docs/decisions/0033-multicast-rtp.md
 */
export function streamingStatistics(simulator: SimulatorState, phone: SimulatorPhone): string {
  const listening = phone.session;
  const heard =
    listening && !phone.mute
      ? countReceivedPackets(listening, packetLossOf(simulator, phone.index))
      : { packets: 0, lost: 0 };
  const source = listening?.source;
  return (
    `${DECLARATION}<StreamingStatistics>` +
    `<RemoteAddr>${source ? `${source.address}/${source.port}` : "0.0.0.0/0"}</RemoteAddr>` +
    `<LocalAddr>${phone.address}/${source?.port ?? 0}</LocalAddr>` +
    `<StreamStatus>${isReceiving(phone) ? "Active" : "Not Ready"}</StreamStatus>` +
    `<Name>${phone.name}</Name>` +
    "<SenderPackets>0</SenderPackets><SenderOctets>0</SenderOctets><SenderCodec>None</SenderCodec>" +
    `<RcvrLostPackets>${heard.lost}</RcvrLostPackets>` +
    `<RcvrCodec>${source ? "G.711 ulaw" : "None"}</RcvrCodec>` +
    `<RcvrPackets>${heard.packets}</RcvrPackets>` +
    `<RcvrOctets>${heard.packets * FRAME_BYTES}</RcvrOctets>` +
    `<RcvrDiscarded>${source?.discarded ?? 0}</RcvrDiscarded>` +
    "</StreamingStatistics>"
  );
}

const WEB_ACCESS = { full: 0, "read-only": 2, off: 1 } as const;
/** The signature before a signed file: tag, length, value. */
const SIGNATURE = Buffer.from("0100020100020002010c0300010004", "hex");

/** A configuration file on the TFTP server of the phones; null if there is no such file. */
export function phoneConfigurationFile(
  { name, model, setup }: SimulatorPhone,
  filename: string,
  commonUrl: string | null,
): Buffer | null {
  const suffix = { plain: ".cnf.xml", signed: ".cnf.xml.sgn", encrypted: ".cnf.xml.enc.sgn", none: null }[setup.file];
  if (suffix === null || filename !== `${name}${suffix}`) return null;
  const url = setup.authenticationUrl === undefined ? commonUrl : setup.authenticationUrl;
  const text =
    `${DECLARATION}<device><fullConfig>true</fullConfig><deviceProtocol>SIP</deviceProtocol>` +
    `<sshUserId>admin</sshUserId><sshPassword>secret-of-ssh</sshPassword>` +
    `<vendorConfig><webAccess>${WEB_ACCESS[setup.webAccess]}</webAccess><webProtocol>0</webProtocol></vendorConfig>` +
    `<loadInformation>${model.modelName.replace("CP-", "sip")}.14-1-1</loadInformation>` +
    `<authenticationURL>${(url ?? "").replaceAll("&", "&amp;")}</authenticationURL><secureAuthenticationURL/>` +
    "<deviceSecurityMode>1</deviceSecurityMode></device>";
  const content = Buffer.from(text);
  if (setup.file === "plain") return content;
  // Encrypted content shows no byte of the text.
  if (setup.file === "encrypted") return Buffer.concat([SIGNATURE, content.map((byte) => byte ^ 0x80)]);
  return Buffer.concat([SIGNATURE, Buffer.alloc(268, 0x5a), content]);
}

/** Device information page of a phone (/DeviceInformationX). */
export function deviceInformation(phone: SimulatorPhone): string {
  return (
    `${DECLARATION}<DeviceInformation><MACAddress>${phone.name.slice(3)}</MACAddress>` +
    `<HostName>${phone.name}</HostName><phoneDN>${2000 + phone.index}</phoneDN>` +
    `<modelNumber>${phone.model.modelName}</modelNumber></DeviceInformation>`
  );
}

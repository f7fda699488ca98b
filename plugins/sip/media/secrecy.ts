import { randomBytes } from "node:crypto";
import {
  createReportOpener,
  createRtpOpener,
  isSrtpKey,
  SRTP_MASTER_BYTES,
  SRTP_SUITES,
  type SrtpMaster,
} from "#plugin-api";
import { type Hop, SipFault } from "../agent/hop.ts";

/** Whether sound is encrypted: not at all, where the other side can, or else there is no call. */
export type SecrecyChoice = "off" | "offer" | "require";

/** What we offer: a secret of ours for each suite, the stronger first. */
export interface OwnSecrecy {
  isRequired: boolean;
  masters: readonly SrtpMaster[];
}

/** What both sides encrypt with. */
export interface Secrecy {
  /** Names the line that was chosen. */
  tag: string;
  own: SrtpMaster;
  theirs: SrtpMaster;
}

/** New secrets for a call; null where none are told. Throws SipFault where they must be told, and anybody could read them. */
export function drawSecrecy(choice: SecrecyChoice, { protocol }: Pick<Hop, "protocol">): OwnSecrecy | null {
  if (choice === "require" && protocol !== "tls")
    throw new SipFault("its sound is to be encrypted, and the way to it (TLS) is not");
  if (choice === "off" || protocol !== "tls") return null;
  const draw = (): string => randomBytes(SRTP_MASTER_BYTES).toString("base64");
  return { isRequired: choice === "require", masters: SRTP_SUITES.map((suite) => ({ suite, key: draw() })) };
}

/** The line that tells a secret. @source RFC 4568 §9.1 */
export function cryptoLine(tag: number | string, { suite, key }: SrtpMaster): string {
  return `a=crypto:${tag} ${suite} inline:${key}`;
}

const LINE = /^a=crypto:(\d{1,9}) (\S{1,64}) inline:([A-Za-z0-9+/]{40})(?:\|(?:2\^)?\d{1,15})?[ \t]{0,8}$/;

/** The first of their secrets that can be used: without a key's name in each packet, and without other wishes. */
export function chooseSecrecy(lines: readonly string[], { masters }: OwnSecrecy): Secrecy | null {
  for (const line of lines) {
    const [, tag = "", suite, key = ""] = LINE.exec(line) ?? [];
    const own = masters.find((each) => each.suite === suite);
    if (own && isSrtpKey(key)) return { tag, own, theirs: { suite: own.suite, key } };
  }
  return null;
}

/** Reads what comes in a call; both give null for what is not to be believed. */
export interface MediaOpener {
  sound(packet: Buffer): Buffer | null;
  report(packet: Buffer): Buffer | null;
}

/** Makes it; what comes without secrecy is believed as it is. */
export function createMediaOpener(secrecy: Secrecy | null): MediaOpener {
  if (!secrecy) return { sound: (packet) => packet, report: (packet) => packet };
  return { sound: createRtpOpener(secrecy.theirs), report: createReportOpener(secrecy.theirs) };
}

import type { SignedAuditNote } from "../../store/audit-types.ts";
import type { RowBody } from "../storage/transaction-program.ts";

/**
 * Messages outside the feeds: identity proof, peer heartbeats, status and requests. They are not queued and are lost
 * with the connection.
 */
export type ControlMessage = SiteControlMessage | HubControlMessage;

/** Sent by an appliance. */
export type SiteControlMessage =
  /** Signature over the challenge; used where a proxy ends TLS and no client certificate can be shown. */
  | { t: "proof"; proof: string }
  /** A serialized `PeerHeartbeat`, relayed to peers that the local network does not reach. */
  | { t: "beat"; beat: string }
  | ({ t: "status" } & ReportedStatus)
  /** The end of the appliance's audit, for the cloud to keep. */
  | { t: "audit-end"; note: SignedAuditNote }
  | { t: "ask"; ref: string; of: ControlRequest };

/** Health of an appliance and the size of its outbox; times are epoch ms. */
export interface ReportedStatus {
  health: "GREEN" | "YELLOW" | "RED";
  /** Texts of the health reasons, the most severe first. */
  reasons: readonly string[];
  /** Start of the current health state. */
  since: number;
  /** Records that wait to be sent, counted up to 10,000, and when the oldest of them was written. */
  unsent: number;
  unsentSince: number | null;
}

/** Sent by the cloud. */
export type HubControlMessage =
  | { t: "challenge"; nonce: string }
  /** Hashes of all revoked keys; the list is always complete. */
  | { t: "revoked"; keys: readonly string[] }
  /** A peer's heartbeat, relayed. */
  | { t: "beat"; beat: string }
  /** The ends of its audit that the appliance sent before. */
  | { t: "audit-ends"; notes: readonly SignedAuditNote[] }
  | { t: "answer"; ref: string; given?: RowBody; refused?: string };

/** What shows the cloud who sends a forwarded request: a token that it created, or a proof that it issued. */
export type CloudCredential = { token: string } | { proof: string };

/** A request of an appliance to the cloud. */
export type ControlRequest =
  /** Asks for a certificate for a new key; `request` is a PEM certificate request. */
  | { kind: "renew"; request: string }
  /** Asks what the cloud has of a type, compared by these fields; with `bucket` for the rows of that bucket. */
  | { kind: "inventory"; type: string; fields: readonly string[]; bucket: number | null }
  /**
   * Shows the appliance's exchange key (base64), signed with the key of its certificate, and asks for the secrets that are
   * handed to it. Sent only to a cloud that sends marks of secrets: older ones do not know it.
   */
  | { kind: "secrets"; publicKey: string; proof: string }
  /** Asks for a proof of a log-in at the appliance, for its forwarded requests. */
  | { kind: "log-in"; email: string; password: string }
  /**
   * An API request that only the cloud may carry out, on behalf of a user; `body` is base64. Older releases send no
   * credential, and are refused.
   */
  | {
      kind: "request";
      credential?: CloudCredential | undefined;
      method: string;
      target: string;
      headers: RowBody;
      body: string;
    };

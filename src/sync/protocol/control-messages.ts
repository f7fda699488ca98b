import type { RowBody } from "../storage/transaction-program.ts";

/**
 * What the ends of a link say to each other beside the feeds: who they are, what neighbours do, and questions. It is lost
 * with the connection.
 */
export type ControlMessage = SiteControlMessage | HubControlMessage;

/** What an appliance says. */
export type SiteControlMessage =
  /** Signs what the cloud made up: for where TLS ends on the way, so that no certificate can be shown. */
  | { t: "proof"; proof: string }
  /** What it tells its neighbours, for those that don't hear it on the local network; text of a beat. */
  | { t: "beat"; beat: string }
  | ({ t: "status" } & ReportedStatus)
  | { t: "ask"; ref: string; of: ControlRequest };

/** How an appliance is, and what of it has not come up; times are epoch ms. */
export interface ReportedStatus {
  health: "GREEN" | "YELLOW" | "RED";
  /** What is wrong, in words, the worst first. */
  reasons: readonly string[];
  /** Since when. */
  since: number;
  /** Records that wait to go up, counted up to 10,000, and when the oldest of them was written. */
  unsent: number;
  unsentSince: number | null;
}

/** What the cloud says. */
export type HubControlMessage =
  | { t: "challenge"; nonce: string }
  /** Hashes of keys that nobody may trust any more; all of them, each time. */
  | { t: "revoked"; keys: readonly string[] }
  /** What a neighbour tells. */
  | { t: "beat"; beat: string }
  | { t: "answer"; ref: string; given?: RowBody; refused?: string };

/** What an appliance may ask the cloud. */
export type ControlRequest =
  /** A certificate for another key; PEM. */
  | { kind: "renew"; request: string }
  /**
   * A request of the API that only the cloud may carry out, in the name of a user, with no more rights than the scopes of
   * the token leave (null for all); `body` is base64.
   */
  | {
      kind: "request";
      userId: string;
      scopes: readonly string[] | null;
      method: string;
      target: string;
      headers: RowBody;
      body: string;
    };

/** Connection data of a cluster. Plain values that are sent to the reader thread. Contains secrets in clear text. */
export interface ClusterAccess {
  id: string;
  name: string;
  axl: AxlAccess;
  snmp: SnmpAccess;
}

/** Access to AXL. */
export interface AxlAccess {
  /** Host, with or without a port. */
  address: string;
  user: string;
  password: string;
  /** SHA-256 of the required certificate, hex with colons; null: a trusted authority must have signed it. */
  fingerprint: string | null;
}

/** Access to the nodes by SNMP. */
export type SnmpAccess =
  | { version: 2; community: string }
  | { version: 3; user: string; authPassword: string; encryptPassword: string };

/** A phone in the cluster's database. Unknown texts are empty. */
export interface ClusterPhone {
  /** Identifier in the database, lower case without braces; empty if unknown. */
  uuid: string;
  /** SEP and the MAC address. */
  name: string;
  description: string;
  product: string;
  model: string;
  protocol: string;
  devicePool: string;
  callingSearchSpace: string;
  location: string;
  owner: string;
  authenticationUrl: string;
  /** Directory numbers in line order; null if they could not be read. */
  lines: readonly string[] | null;
}

/** Registration of a phone at a node. */
export interface PhoneRegistration {
  name: string;
  registered: boolean;
  /** IPv4 address in dotted form; null without one. */
  address: string | null;
  /** Time of the last registration, epoch ms; 0 if unknown. */
  at: number;
  /** Node that reported it. */
  node: string;
}

/** State of a node's phone table; equal states mean equal tables. @source CISCO-CCM-MIB, ccmPhoneTableStateId */
export interface NodeState {
  node: string;
  stateId: number;
  /** Start time of its service, as the node encodes it, hex. */
  startTime: string;
}

/**
 * `full` reads everything; `delta` database changes since the last reading, and registrations; `partial` registrations only.
 */
export type ReadingKind = "full" | "delta" | "partial";

/** A phone with its registration; null if no node knows it. */
export interface GatheredPhone {
  phone: ClusterPhone;
  registration: PhoneRegistration | null;
}

/** Result of a reading. */
export interface ReadingSummary {
  /** The kind that was read; `full` if a smaller one was not sufficient. */
  kind: ReadingKind;
  /** Phones in the database. */
  phones: number;
  registered: number;
  /** Phones that the reading provides: all of a full reading, else those that differ. */
  changed: number;
  /** Names of phones that are no longer in the database; empty for a full reading, which lists all phones. */
  gone: readonly string[];
  nodes: readonly string[];
  /** Release of the cluster, such as 14.0.1.10000-20. */
  version: string;
  /** Number of AXL requests, and of rows in their responses. */
  requests: number;
  rows: number;
  registrationSource: "snmp" | "risport";
  /** Incomplete parts: nodes that did not respond, directory numbers that could not be read. */
  warnings: readonly string[];
  tookMs: number;
}

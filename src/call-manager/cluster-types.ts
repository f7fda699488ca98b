/** How a cluster is asked. Plain values: it goes to the thread that reads clusters. Holds secrets in the clear. */
export interface ClusterAccess {
  id: string;
  name: string;
  axl: AxlAccess;
  snmp: SnmpAccess;
}

/** The administration interface of a cluster. */
export interface AxlAccess {
  /** Host, with or without a port. */
  address: string;
  user: string;
  password: string;
  /** SHA-256 of the certificate that the host must show, hex with colons; null: an authority must have signed it. */
  fingerprint: string | null;
}

/** How the nodes of a cluster are asked by SNMP. */
export type SnmpAccess =
  | { version: 2; community: string }
  | { version: 3; user: string; authPassword: string; encryptPassword: string };

/** A phone as the cluster's database describes it. Texts are empty where nothing is known. */
export interface ClusterPhone {
  /** Identifier in the database, lower case without braces; empty when it was not told. */
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
  /** Directory numbers in the order of its lines; null when they could not be read. */
  lines: readonly string[] | null;
}

/** What a node knows of a phone. */
export interface PhoneRegistration {
  name: string;
  registered: boolean;
  /** IPv4 address in dots; null when it has none. */
  address: string | null;
  /** When it registered last, epoch ms; 0 when that is not known. */
  at: number;
  /** Node that says so. */
  node: string;
}

/** Which state of a node's table of phones was read; equal states mean equal tables. @source CISCO-CCM-MIB, ccmPhoneTableStateId */
export interface NodeState {
  node: string;
  stateId: number;
  /** When its service started, as the node writes it, hex. */
  startTime: string;
}

/**
 * How much is read: `full` everything; `delta` what changed in the database since the last reading, and registrations;
 * `partial` registrations alone.
 */
export type ReadingKind = "full" | "delta" | "partial";

/** A phone with its registration; null where no node knows it. */
export interface GatheredPhone {
  phone: ClusterPhone;
  registration: PhoneRegistration | null;
}

/** What one reading came to. */
export interface ReadingSummary {
  /** The kind that was read in the end: `full` when less was not enough. */
  kind: ReadingKind;
  /** Phones in the database and how many are registered. */
  phones: number;
  registered: number;
  /** Phones that the reading hands over: all of a full one, else those that are not as they were. */
  changed: number;
  /** Names of phones that are no longer in the database; a full reading tells none, since it tells all that are. */
  gone: readonly string[];
  nodes: readonly string[];
  /** Release that the cluster tells of itself, such as 14.0.1.10000-20. */
  version: string;
  /** Requests to the administration interface, and rows of their answers. */
  requests: number;
  rows: number;
  registrationSource: "snmp" | "risport";
  /** What was done without, in words: nodes that did not answer, directory numbers that could not be read. */
  warnings: readonly string[];
  tookMs: number;
}

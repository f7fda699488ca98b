import snmp, { type Varbind } from "net-snmp";
import { sentence } from "../../lib/sentences/sentences.ts";
import { ClusterError } from "../cluster-error.ts";
import type { NodeState, PhoneRegistration } from "../cluster-types.ts";
import type { NodeSession } from "./node-session.ts";

/** @source CISCO-CCM-MIB, ciscoCcmMIB */
const MIB = "1.3.6.1.4.1.9.9.156";
const START_TIME = `${MIB}.1.5.20.0`;
const STATE_ID = `${MIB}.1.5.21.0`;
/** Columns of ccmPhoneTable. @source CISCO-CCM-MIB, ccmPhoneEntry */
const PHONE_ENTRY = `${MIB}.1.2.1.1`;
const COLUMNS = { status: 7, registeredAt: 8, name: 20, address: 21 } as const;
/** ccmPhoneStatus: registered, and partiallyregistered (some of its lines are). */
const REGISTERED: ReadonlySet<unknown> = new Set([2, 5]);
/** GETBULK repetitions: with four columns a response of about 7 KB. @source docs/decisions/0205-call-manager.md, SNMP */
const REPETITIONS = 50;
/** Safety limit that also stops an agent that loops. @source docs/decisions/0205-call-manager.md, SNMP */
const MAX_ROWS = 100_000;

/** State of a node's phone table. Throws ClusterError; `snmp-answer` if no call manager runs on the node. */
export async function readTableState(session: NodeSession): Promise<NodeState> {
  const [startTime, stateId] = await session.get([START_TIME, STATE_ID]);
  if (typeof stateId !== "number")
    throw new ClusterError("snmp-answer", sentence("cluster.no-table", { node: session.node }));
  return { node: session.node, stateId, startTime: Buffer.isBuffer(startTime) ? startTime.toString("hex") : "" };
}

/** All phones of a node. Throws ClusterError instead of returning a partial result. */
export async function readPhoneTable(session: NodeSession): Promise<PhoneRegistration[]> {
  const columns = Object.values(COLUMNS).map((column) => ({
    prefix: `${PHONE_ENTRY}.${column}.`,
    last: `${PHONE_ENTRY}.${column}`,
    values: new Map<string, Varbind["value"]>(),
    isOver: false,
  }));
  for (;;) {
    const open = columns.filter(({ isOver }) => !isOver);
    if (open.length === 0) break;
    const answers = await session.getBulk(
      open.map(({ last }) => last),
      REPETITIONS,
    );
    open.forEach((column, at) => {
      const answer = answers[at] ?? [];
      if (answer.length === 0) column.isOver = true;
      for (const varbind of answer) {
        if (column.isOver) break;
        if (snmp.isVarbindError(varbind) || !varbind.oid.startsWith(column.prefix)) column.isOver = true;
        else addValue(column, varbind, session.node);
      }
    });
  }
  const [status, registeredAt, name, address] = columns.map(({ values }) => values);
  const found: PhoneRegistration[] = [];
  for (const [index, value] of name ?? []) {
    found.push({
      name: String(value),
      registered: REGISTERED.has(status?.get(index)),
      address: parseAddress(address?.get(index)),
      at: parseDateAndTime(registeredAt?.get(index)),
      node: session.node,
    });
  }
  return found;
}

interface Column {
  prefix: string;
  last: string;
  values: Map<string, Varbind["value"]>;
  isOver: boolean;
}

function addValue(column: Column, { oid, value }: Varbind, node: string): void {
  const index = oid.slice(column.prefix.length);
  if (column.values.has(index)) throw new ClusterError("snmp-answer", sentence("cluster.walk-loop", { node }));
  if (column.values.size >= MAX_ROWS)
    throw new ClusterError("snmp-answer", sentence("cluster.too-many-phones", { node, limit: MAX_ROWS }));
  column.values.set(index, value);
  column.last = oid;
}

/** IPv4 address of four octets; null for anything else and for 0.0.0.0. */
function parseAddress(value: Varbind["value"]): string | null {
  if (!Buffer.isBuffer(value) || value.length !== 4) return null;
  const address = [...value].join(".");
  return address === "0.0.0.0" ? null : address;
}

/** Epoch ms of a DateAndTime; 0 if invalid. @source RFC 2579, DateAndTime */
function parseDateAndTime(value: Varbind["value"]): number {
  if (!Buffer.isBuffer(value) || value.length < 8) return 0;
  const [year, month, day, hour, minute, second] = [value.readUInt16BE(0), ...value.subarray(2, 7)] as number[];
  const local = Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
  if (value.length < 11) return local;
  const sign = value[8] === 0x2d ? -1 : 1;
  return local - sign * ((value[9] ?? 0) * 60 + (value[10] ?? 0)) * 60_000;
}

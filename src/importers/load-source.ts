import type { Clock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import type { TableFormat } from "./table-format.ts";

/** Ends a load without changes, with a reason for people; a `stopped` run may be confirmed. */
export class LoadAborted extends CallerError {
  readonly state: "failed" | "stopped";

  constructor(state: "failed" | "stopped", message: string) {
    super("invalid-value", message);
    this.state = state;
  }
}

/** An error or a warning about a source. */
export interface SourceMessage {
  /** File of the source; null if it is about the source as a whole. */
  file: string | null;
  /** Line of the file; 0 if it is about no line. */
  line: number;
  column: string | null;
  message: string;
}

/** A file as it was read. */
export interface SourceFile extends TableFormat {
  file: string;
  /** `delta`: changed records only. */
  mode: "bulk" | "delta";
  columns: readonly string[];
  /** Lines after the header. */
  lines: number;
}

/** A list of a source. */
export interface SourceList {
  key: string;
  name: string;
  /** Key under which earlier releases stored the list; null if it is the same. */
  formerKey: string | null;
  file: string;
  line: number;
}

/** A person of a source. */
export interface SourcePerson {
  file: string;
  /** 0 for a person of an earlier load. */
  line: number;
  /** Unique key within the source. */
  key: string;
  name: string;
  email: string | null;
  sms: string | null;
  phone: string | null;
  /** Of several people with one address the first who is no student logs in with it. */
  isStudent: boolean;
  /** Keys of lists, each with the end of the membership in epoch ms; null for none. */
  memberships: ReadonlyMap<string, number | null>;
}

/** A record of a roster that was added, changed or, with null, removed. */
export interface RecordChange {
  file: string;
  id: string;
  data: string | null;
}

/** Everything that a source says, as the thread that reads it holds it. */
export interface SourceContent {
  people: readonly SourcePerson[];
  lists: ReadonlyMap<string, SourceList>;
  /** Keys of people whose lines have errors: they stay as they are. */
  keptPeople: ReadonlySet<string>;
  /** False: lists and memberships that are not in the source stay, because the source lacks the part that names them. */
  namesAllLists: boolean;
  changes: readonly RecordChange[];
}

/** A source that was read by a worker thread; people and changes are handed over in slices. */
export interface LoadSource extends Pick<SourceContent, "keptPeople" | "namesAllLists"> {
  peopleCount: number;
  /** All people, students last. */
  people(): AsyncIterable<readonly SourcePerson[]>;
  lists: ReadonlyMap<string, SourceList & { isUsed: boolean }>;
  changes(): AsyncIterable<readonly RecordChange[]>;
  /** Ends the thread. */
  close(): Promise<void>;
}

/** What reading a source needs, and receives its findings. */
export interface SourceContext {
  clock: Pick<Clock, "defer">;
  signal: AbortSignal;
  /** Reports a line that is not imported. */
  error(message: SourceMessage): void;
  /** Reports an ignored part. */
  warn(message: SourceMessage): void;
  fileRead(file: SourceFile): void;
  /** Called for each line after the header; the reader waits for a promise. */
  lineRead(): Promise<void> | null;
}

import type { Field } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";

/**
 * What an endpoint answers when all is well, told beside it: the API's description is made of it, and every answer in a
 * test is held against it.
 */
export type ResponseShape =
  /** A row, with the further members that `with` names; those that are not required are there only sometimes. */
  | { kind: "row"; resource: AnyResource; with?: Readonly<Record<string, Field>> }
  /** A page of a list in its envelope. */
  | { kind: "list"; resource: AnyResource }
  /** The answer to a deletion. */
  | { kind: "deletion" }
  /**
   * An object with these members, null where a field is not required; all are there but those of `sometimes`. Or, where
   * the caller asks for it, bytes of one of the content types `orBytes`.
   */
  | {
      kind: "members";
      fields: Readonly<Record<string, Field>>;
      sometimes?: readonly string[];
      orBytes?: readonly string[];
    }
  /** JSON that fields can't describe. */
  | { kind: "json"; schema: JsonSchema }
  /** Bytes of one of these content types. */
  | { kind: "bytes"; types: readonly string[] }
  /** A page for people, or the way to the next one (303). */
  | { kind: "page" }
  /** Nothing: status 204. */
  | { kind: "nothing" };

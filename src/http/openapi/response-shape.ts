import type { Field } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";

/**
 * Shape of a successful response, declared beside each endpoint: the OpenAPI document is generated from it, and tests
 * validate every response against it.
 */
export type ResponseShape =
  /** A row, with the further members that `with` names; those that are not required are there only sometimes. */
  | { kind: "row"; resource: AnyResource; with?: Readonly<Record<string, Field>> }
  /** A page of a list in its envelope. */
  | { kind: "list"; resource: AnyResource }
  | { kind: "deletion" }
  /**
   * An object with these fields, null if an optional field is not set; only those in `sometimes` may be missing. If
   * the caller requests it, bytes of one of the content types `orBytes`.
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
  /** An HTML page, or a redirect to the next one (303). */
  | { kind: "page" }
  /** Nothing: status 204. */
  | { kind: "nothing" };

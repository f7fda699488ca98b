import type { Field } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";

/**
 * Shape of a successful response, declared beside each endpoint: the OpenAPI document is generated from it, and tests
 * validate every response against it.
 */
export type ResponseShape =
  /** A row, with additional fields in `with`; optional ones may be missing. */
  | { kind: "row"; resource: AnyResource; with?: Readonly<Record<string, Field>> }
  /** A page of a list. */
  | { kind: "list"; resource: AnyResource }
  | { kind: "deletion" }
  /**
   * An object with these fields, null if an optional field is not set; only those in `sometimes` may be missing. If
   * the caller requests it, bytes of one of the content types `orBytes`. With `orNothing` there may be no content (204).
   */
  | {
      kind: "members";
      fields: Readonly<Record<string, Field>>;
      sometimes?: readonly string[];
      orBytes?: readonly string[];
      orNothing?: boolean;
    }
  /** JSON that cannot be described by fields. */
  | { kind: "json"; schema: JsonSchema }
  /** Bytes of one of these content types. */
  | { kind: "bytes"; types: readonly string[] }
  /** An HTML page, or a redirect to the next one (303). */
  | { kind: "page" }
  /** No content (204). */
  | { kind: "nothing" };

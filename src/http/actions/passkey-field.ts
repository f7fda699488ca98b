import { json } from "../../schema/field.ts";
import type { ResponseShape } from "../openapi/response-shape.ts";

/** What `navigator.credentials` returned, as JSON. @source W3C Web Authentication Level 3 §5.1.8 */
export const PASSKEY_FIELD = json("Answer of the browser to the options, as `PublicKeyCredential.toJSON()` gives it.", {
  required: true,
  maxBytes: 16_384,
});

const CREDENTIALS = { type: "array", items: { type: "object" } } as const;
const SHARED = {
  challenge: { type: "string" },
  timeout: { type: "integer" },
  extensions: { type: "object" },
  hints: { type: "array", items: { type: "string" } },
} as const;

/** @source W3C Web Authentication Level 3 §5.1.9, PublicKeyCredentialCreationOptionsJSON */
export const CREATION_OPTIONS: ResponseShape = {
  kind: "json",
  schema: {
    type: "object",
    required: ["challenge", "rp", "user", "pubKeyCredParams"],
    properties: {
      ...SHARED,
      ...{ rp: { type: "object" }, user: { type: "object" }, pubKeyCredParams: CREDENTIALS },
      ...{ excludeCredentials: CREDENTIALS, authenticatorSelection: { type: "object" } },
      attestation: { type: "string" },
    },
  },
};

/** @source W3C Web Authentication Level 3 §5.1.10, PublicKeyCredentialRequestOptionsJSON */
export const REQUEST_OPTIONS: ResponseShape = {
  kind: "json",
  schema: {
    type: "object",
    required: ["challenge", "rpId"],
    properties: {
      ...SHARED,
      ...{ rpId: { type: "string" }, userVerification: { type: "string" }, allowCredentials: CREDENTIALS },
    },
  },
};

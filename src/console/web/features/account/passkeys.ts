import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/browser";

/** Options of the API for the browser. */
export type CreationOptions = PublicKeyCredentialCreationOptionsJSON;
export type RequestOptions = PublicKeyCredentialRequestOptionsJSON;

/** Whether the browser has passkeys for this address: by a host name, over HTTPS. */
export function hasPasskeys(): boolean {
  const isAddress = /^(?:[\d.]+|\[.*\])$/.test(location.hostname);
  return "PublicKeyCredential" in window && window.isSecureContext && !isAddress;
}

/** Loaded when a passkey is used: the log-in page is to be there at once. */
const load = () => import("@simplewebauthn/browser");

/** Asks the browser to create a passkey; null if the user did not, or has it already. */
export async function createPasskey(optionsJSON: CreationOptions): Promise<object | null> {
  const { startRegistration } = await load();
  return startRegistration({ optionsJSON }).catch(() => null);
}

/** Asks the browser to sign with a passkey; null if the user did not. */
export async function signWithPasskey(optionsJSON: RequestOptions): Promise<object | null> {
  const { startAuthentication } = await load();
  return startAuthentication({ optionsJSON }).catch(() => null);
}

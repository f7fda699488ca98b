import { httpSms, smsGate, textBee, traccar } from "./android-gateways.ts";
import { messagebird, plivo, sinch, telnyx, twilio, vonage } from "./cloud-providers.ts";
import { gammu, kannel, playsms } from "./local-gateways.ts";
import type { ProviderForm } from "./provider-form.ts";

/** Known providers, by the values of the setting `provider`. */
export const PROVIDERS: Readonly<Record<string, ProviderForm>> = {
  twilio,
  vonage,
  sinch,
  messagebird,
  plivo,
  telnyx,
  kannel,
  playsms,
  gammu,
  "sms-gate": smsGate,
  httpsms: httpSms,
  textbee: textBee,
  traccar,
};

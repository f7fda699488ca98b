import { basicAuthorization, type ProviderForm, successRule } from "./provider-form.ts";

/** @source docs.sms-gate.app, API and webhooks; github.com/capcom6/android-sms-gateway */
export const smsGate: ProviderForm = {
  url: "https://api.sms-gate.app/3rdparty/v1",
  request: ({ url, user, password, to, text, receiptUrl }) => ({
    url: `${url}/messages`,
    method: "POST",
    headers: { authorization: basicAuthorization(user, password) },
    json: { textMessage: { text }, phoneNumbers: [to], withDeliveryReport: receiptUrl !== "" },
  }),
  success: successRule({
    path: "recipients.*.state",
    pattern: "^(Pending|Processed|Sent|Delivered)$",
    reason: "recipients.*.error,message",
  }),
  messageId: "id",
  receipt: {
    id: "payload.messageId",
    state: "event",
    arrived: "sms:delivered",
    lost: "sms:failed",
    error: "payload.reason",
  },
  inbound: {
    from: "payload.sender,payload.phoneNumber",
    text: "payload.message",
    event: { path: "event", pattern: /^sms:received$/ },
  },
  signature: "hmac-sha256-of-body-and-time",
};

/** @source docs.httpsms.com, API and events */
export const httpSms: ProviderForm = {
  url: "https://api.httpsms.com/v1",
  request: ({ url, password, to, sender, text, id }) => ({
    url: `${url}/messages/send`,
    method: "POST",
    headers: { "x-api-key": password },
    json: { from: sender, to, content: text, ...(id !== "" && { request_id: id }) },
  }),
  success: successRule({ path: "status", pattern: "^success$", reason: "message" }),
  messageId: "data.id",
  receipt: {
    id: "data.message_id,data.id",
    state: "type",
    arrived: "message.phone.delivered",
    lost: "message.send.failed,message.send.expired",
    error: "data.error_message",
  },
  inbound: {
    from: "data.contact",
    text: "data.content",
    event: { path: "type", pattern: /^message\.phone\.received$/ },
  },
  signature: null,
};

/** @source textbee.dev documentation, API; github.com/vernu/textbee */
export const textBee: ProviderForm = {
  url: "https://api.textbee.dev/api/v1",
  request: ({ url, user, password, to, text }) => ({
    url: `${url}/gateway/devices/${encodeURIComponent(user)}/send-sms`,
    method: "POST",
    headers: { "x-api-key": password },
    json: { recipients: [to], message: text },
  }),
  success: successRule({ path: "data.success", pattern: "^true$", reason: "error,message,data.message" }),
  messageId: null,
  receipt: null,
  inbound: {
    from: "sender",
    text: "message",
    event: { path: "webhookEvent", pattern: /^MESSAGE_RECEIVED$/ },
  },
  signature: null,
};

/** @source traccar.org, HTTP SMS API; github.com/traccar/traccar-sms-gateway */
export const traccar: ProviderForm = {
  url: "https://www.traccar.org/sms",
  request: ({ url, password, to, text }) => ({
    url: `${url}/`,
    method: "POST",
    headers: { authorization: password },
    json: { to, message: text },
  }),
  success: successRule({ reason: "message" }),
  messageId: null,
  receipt: null,
  inbound: { from: "from", text: "message,text", event: null },
  signature: null,
};

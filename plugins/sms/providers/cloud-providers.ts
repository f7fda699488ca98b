import { basicAuthorization, digitsOf, type ProviderForm, successRule } from "./provider-form.ts";

/** @source Twilio documentation, Messages resource, webhook security */
export const twilio: ProviderForm = {
  url: "https://api.twilio.com/2010-04-01",
  request: ({ url, user, password, to, sender, text, receiptUrl }) => ({
    url: `${url}/Accounts/${encodeURIComponent(user)}/Messages.json`,
    method: "POST",
    headers: { authorization: basicAuthorization(user, password) },
    form: {
      To: to,
      ...(/^MG[0-9a-f]{32}$/i.test(sender) ? { MessagingServiceSid: sender } : { From: sender }),
      Body: text,
      ...(receiptUrl !== "" && { StatusCallback: receiptUrl }),
    },
  }),
  success: successRule({
    path: "status",
    pattern: "^(accepted|scheduled|queued|sending|sent|delivered|read)$",
    reason: "error_message,message",
  }),
  messageId: "sid",
  receipt: {
    id: "MessageSid,SmsSid",
    state: "MessageStatus,SmsStatus",
    arrived: "delivered,read",
    lost: "failed,undelivered,canceled",
    error: "ErrorCode",
  },
  inbound: { from: "From", text: "Body", event: null },
  signature: "hmac-sha1-of-url-and-form",
};

/** @source Vonage documentation, SMS API: error codes, delivery receipts, signing messages */
export const vonage: ProviderForm = {
  url: "https://rest.nexmo.com",
  request: ({ url, user, password, to, sender, text, receiptUrl, isUnicode, id }) => ({
    url: `${url}/sms/json`,
    method: "POST",
    form: {
      api_key: user,
      api_secret: password,
      to: digitsOf(to),
      from: digitsOf(sender),
      text,
      type: isUnicode ? "unicode" : "text",
      ...(receiptUrl !== "" && { "status-report-req": "1", callback: receiptUrl, "client-ref": id }),
    },
  }),
  success: successRule({
    path: "messages.*.status",
    pattern: "^0$",
    reason: "messages.*.error-text",
    temporary: "^(1|5|10)$",
    account: "^(4|8|9|14)$",
  }),
  messageId: "messages.*.message-id",
  receipt: {
    id: "messageId,message-id",
    state: "status",
    arrived: "delivered",
    lost: "failed,rejected,expired,undeliverable",
    error: "err-code",
  },
  inbound: { from: "msisdn", text: "text", event: null },
  signature: "hmac-of-parameters",
};

/** @source Sinch documentation, SMS API: batches, delivery reports, callbacks */
export const sinch: ProviderForm = {
  url: "https://us.sms.api.sinch.com/xms/v1",
  request: ({ url, user, password, to, sender, text, receiptUrl, id }) => ({
    url: `${url}/${encodeURIComponent(user)}/batches`,
    method: "POST",
    headers: { authorization: `Bearer ${password}` },
    json: {
      to: [to],
      ...(sender !== "" && { from: sender }),
      body: text,
      ...(receiptUrl !== "" && { delivery_report: "per_recipient", callback_url: receiptUrl, client_reference: id }),
    },
  }),
  success: successRule({ path: "id", pattern: ".", reason: "text,detail,title" }),
  messageId: "id",
  receipt: {
    id: "batch_id",
    state: "status,statuses.*.status",
    arrived: "Delivered",
    lost: "Aborted,Rejected,Deleted,Failed,Expired,Cancelled",
    error: "code,statuses.*.code",
  },
  inbound: { from: "from", text: "body", event: { path: "type", pattern: /^mo_/ } },
  signature: "hmac-sha256-of-body-and-nonce",
};

/** @source Bird (MessageBird) documentation, SMS API: send, status reports, signed requests */
export const messagebird: ProviderForm = {
  url: "https://rest.messagebird.com",
  request: ({ url, password, to, sender, text, receiptUrl, id }) => ({
    url: `${url}/messages`,
    method: "POST",
    headers: { authorization: `AccessKey ${password}` },
    json: {
      originator: digitsOf(sender),
      recipients: [digitsOf(to)],
      body: text,
      datacoding: "auto",
      ...(receiptUrl !== "" && { reference: id, reportUrl: receiptUrl }),
    },
  }),
  success: successRule({
    path: "recipients.items.*.status",
    pattern: "^(scheduled|sent|buffered|delivered)$",
    reason: "errors.*.description,recipients.items.*.statusReason",
    account: "^(2|25)$",
  }),
  messageId: "id",
  receipt: {
    id: "id",
    state: "status",
    arrived: "delivered",
    lost: "delivery_failed,expired",
    error: "statusReason,statusErrorCode",
  },
  inbound: { from: "originator,sender", text: "payload,body,message", event: null },
  signature: "json-web-token-with-hashes",
};

/** @source Plivo documentation, Message API, signature validation */
export const plivo: ProviderForm = {
  url: "https://api.plivo.com/v1",
  request: ({ url, user, password, to, sender, text, receiptUrl }) => ({
    url: `${url}/Account/${encodeURIComponent(user)}/Message/`,
    method: "POST",
    headers: { authorization: basicAuthorization(user, password) },
    json: {
      src: digitsOf(sender),
      dst: digitsOf(to),
      text,
      ...(receiptUrl !== "" && { url: receiptUrl, method: "POST" }),
    },
  }),
  success: successRule({ path: "message_uuid.*", pattern: ".", reason: "error" }),
  messageId: "message_uuid.*",
  receipt: {
    id: "MessageUUID",
    state: "Status",
    arrived: "delivered,read",
    lost: "failed,undelivered,rejected",
    error: "ErrorCode",
  },
  inbound: { from: "From", text: "Text", event: null },
  signature: "hmac-sha256-of-url-and-form",
};

/** @source Telnyx documentation, Messaging API: send, message.finalized, webhook signing */
export const telnyx: ProviderForm = {
  url: "https://api.telnyx.com/v2",
  request: ({ url, password, to, sender, text, receiptUrl }) => ({
    url: `${url}/messages`,
    method: "POST",
    headers: { authorization: `Bearer ${password}` },
    json: { from: sender, to, text, ...(receiptUrl !== "" && { webhook_url: receiptUrl }) },
  }),
  success: successRule({
    path: "data.to.*.status",
    pattern: "^(queued|sending|sent|delivered|webhook_delivered)$",
    reason: "errors.*.detail,data.errors.*.detail,errors.*.title",
  }),
  messageId: "data.id",
  receipt: {
    id: "data.payload.id",
    state: "data.payload.to.*.status",
    arrived: "delivered",
    lost: "sending_failed,delivery_failed",
    error: "data.payload.errors.*.detail,data.payload.errors.*.title",
  },
  inbound: {
    from: "data.payload.from.phone_number",
    text: "data.payload.text",
    event: { path: "data.event_type", pattern: /^message\.received$/ },
  },
  signature: "ed25519-of-time-and-body",
};

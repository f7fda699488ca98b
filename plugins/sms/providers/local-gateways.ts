import { basicAuthorization, type ProviderForm, successRule } from "./provider-form.ts";

/** @source Kannel user guide, Using the SMS sender; delivery reports */
export const kannel: ProviderForm = {
  url: null,
  request: ({ url, user, password, to, sender, text, receiptUrl, isUnicode }) => ({
    url: `${url}/cgi-bin/sendsms`,
    method: "GET",
    query: {
      username: user,
      password,
      ...(sender !== "" && { from: sender }),
      to,
      text,
      charset: "UTF-8",
      coding: isUnicode ? "2" : "0",
      // Kannel replaces %d by the state and %A by the answer of the message centre.
      ...(receiptUrl !== "" && { "dlr-mask": "31", "dlr-url": `${receiptUrl}&status=%d&answer=%A` }),
    },
  }),
  // "0: Accepted for delivery", "3: Queued for later delivery"; "Sent." of older versions.
  success: successRule({
    pattern: "^\\s*(0: Accepted|3: Queued|Sent\\.)",
    temporary: "^\\s*4:|temporal failure",
    account: "^\\s*(Authorization failed|1:.*auth)",
  }),
  messageId: null,
  receipt: { id: "delivery", state: "status", arrived: "1", lost: "2,16", error: "answer" },
  inbound: { from: "from,sender", text: "text", event: null },
  signature: null,
};

/** @source playSMS documentation, Webservices */
export const playsms: ProviderForm = {
  url: null,
  request: ({ url, user, password, to, sender, text, isUnicode }) => ({
    url: `${url}/index.php`,
    method: "GET",
    query: {
      app: "ws",
      op: "pv",
      format: "json",
      u: user,
      h: password,
      to,
      msg: text,
      ...(sender !== "" && { from: sender }),
      ...(isUnicode && { unicode: "1" }),
    },
  }),
  // {"data": [{"status": "OK", "error": "0", "smslog_id": "1"}]} with one entry per recipient, or "OK 1,queue,number"
  success: successRule({
    pattern: '^\\s*OK\\b|"status"\\s*:\\s*"OK"',
    refusal: '^\\s*ERR\\b|"status"\\s*:\\s*"ERR"',
    reason: "error_string,data.*.error_string,data.*.error,error",
    temporary: "^ERR 10[45]\\b",
    account: "^\\s*(ERR )?100\\b",
  }),
  messageId: "data.*.smslog_id",
  receipt: null,
  inbound: { from: "from,sender", text: "text,message,msg", event: null },
  signature: null,
};

/** @source github.com/pajikos/sms-gammu-gateway, README.md */
export const gammu: ProviderForm = {
  url: null,
  request: ({ url, user, password, to, text, isUnicode }) => ({
    url: `${url}/sms`,
    method: "POST",
    headers: { authorization: basicAuthorization(user, password) },
    json: { text, number: to, unicode: isUnicode },
  }),
  success: successRule({ path: "status", pattern: "^200$", reason: "message" }),
  messageId: null,
  receipt: null,
  inbound: { from: "Number,number,from", text: "Text,text", event: null },
  signature: null,
};

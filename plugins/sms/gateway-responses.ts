import { RE2JS } from "re2js";
import { parseRetryAfterMs, type SendResult } from "#plugin-api";
import { isRecord, type ParsedBody, parseGatewayBody, valuesAt, valuesAtFirst } from "./gateway-values.ts";
import { sentence } from "./sentences.ts";

/** What a gateway's response must say so that a message counts as accepted. Patterns are RE2, case-insensitive. */
export interface SuccessRule {
  /** Accepted statuses: numbers and ranges, separated by commas. */
  statuses: string;
  /** Path of values that must all match `pattern`; null to match the whole body. */
  path: string | null;
  /** Null: any value but one that means no. */
  pattern: string | null;
  /** The whole body must not match it. */
  refusal: string | null;
  /** Paths of the provider's words for a refusal. */
  reason: string | null;
  /** Values at `path`, or words, of refusals that are worth a retry, and of those that concern the whole account. */
  temporary: string | null;
  account: string | null;
}

/** Judges without knowing the gateway: a 2xx response without any sign of a refusal. */
export const UNKNOWN_GATEWAY: SuccessRule = {
  statuses: "200-299",
  path: null,
  pattern: null,
  refusal: null,
  reason: null,
  temporary: null,
  account: null,
};

/** A response that accepted the message, with the captured message id if the pattern has a group. */
export type GatewayVerdict =
  | { accepted: true; body: ParsedBody; captured: string | null }
  | { accepted: false; result: SendResult };

interface GatewayResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

const MAX_WORDS = 200;
const MAX_RETRY_AFTER_MS = 900_000;

/** Problems with the account, which other messages would have as well; and temporary ones. */
const ACCOUNT_WORDS =
  /credential|password|authenticat|unauthori[sz]ed|not authori[sz]ed|authori[sz]ation (?:failed|error|required)|access denied|api.?key|balance|(?:insufficient|not enough|out of) (?:credits?|funds?)|no credits?\b|quota|suspended|signature/i;
const TEMPORARY_WORDS =
  /throttl|rate.?limit|too many|too fast|queue.{0,10}full|try again|temporar|temporal|busy|overload|internal (?:server )?error|(?:service|system|server).{0,12}unavailable|maintenance/i;

/** Judges a response that arrives at `now` (epoch ms) by a rule. @source docs/decisions/0753-sms-gateways.md */
export function judgeResponse(response: GatewayResponse, rule: SuccessRule, now: number): GatewayVerdict {
  const body = parseGatewayBody(response.body);
  if (!isStatusOf(rule.statuses, response.status))
    return { accepted: false, result: refusedStatus(response, body, rule, now) };
  if (rule.path === null && rule.pattern === null) {
    const refused = body.kind === "page" || matches(rule.refusal, body.text) || signOfRefusal(body) !== null;
    return refused
      ? { accepted: false, result: refusedBody(body, rule, [signOfRefusal(body) ?? ""]) }
      : { accepted: true, body, captured: null };
  }
  const values = rule.path === null ? [body.text] : valuesAt(body.value, rule.path);
  const refused = values.filter((each) => !isYes(rule.pattern, each));
  const hasAnswer = values.some((each) => each !== "") && (body.kind !== "page" || rule.path === null);
  if (hasAnswer && refused.length === 0 && !matches(rule.refusal, body.text))
    return { accepted: true, body, captured: rule.path === null ? captureOf(rule.pattern, body.text) : null };
  return { accepted: false, result: refusedBody(body, rule, refused, values.length) };
}

/** The patterns of a rule that are not valid RE2; used before any message is sent. */
export function invalidPattern(rule: SuccessRule): string | null {
  for (const pattern of [rule.pattern, rule.refusal, rule.temporary, rule.account]) {
    try {
      if (pattern !== null) compile(pattern);
    } catch (error) {
      return `${pattern}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  return null;
}

function compile(pattern: string): RE2JS {
  return RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE);
}

function matches(pattern: string | null, text: string): boolean {
  return pattern !== null && compile(pattern).matcher(text).find();
}

function captureOf(pattern: string | null, text: string): string | null {
  if (pattern === null) return null;
  const matcher = compile(pattern).matcher(text);
  return matcher.find() && matcher.groupCount() > 0 ? (matcher.group(1) ?? null) : null;
}

function isYes(pattern: string | null, value: string): boolean {
  return pattern === null ? !NO.test(value.trim()) : matches(pattern, value);
}

const NO =
  /^(?:|0|false|no|none|null|error|err|nok|ko|fail(?:ed|ure)?|refused|rejected|undelivered|undeliverable|denied|invalid|forbidden|unauthorized)$/i;
const NO_ERROR = /^(?:|0+|false|none|null|no ?error|ok|success(?:ful)?)$/i;
/** Members that hold an error, and those that say yes or no. */
const ERROR_MEMBER = /^(?:errors?|errorcode|errormessages?|errortext|errordescription|errorstring|errorreason|fault)$/;
const YES_MEMBER = /^(?:success|ok|accepted|issuccess|successful)$/;
const STATE_MEMBER = /^(?:status|state|result|outcome|statustext|statusname|messagestatus)$/;
const MAX_VISITED = 2_000;

/** The words of a body that say no, whatever gateway wrote them; null if it says nothing of the kind. */
function signOfRefusal({ kind, value, text }: ParsedBody): string | null {
  if (kind === "text") return REFUSING_TEXT.test(text) ? text : null;
  if (kind !== "json" && kind !== "xml") return null;
  let queue: unknown[] = [value];
  for (let visited = 0; queue.length > 0 && visited < MAX_VISITED; ) {
    const next: unknown[] = [];
    for (const each of queue) {
      visited++;
      if (Array.isArray(each)) next.push(...each.slice(0, MAX_VISITED));
      if (!isRecord(each)) continue;
      for (const [name, member] of Object.entries(each).slice(0, MAX_VISITED)) {
        const sign = memberSign(name, member);
        if (sign !== null) return sign;
        next.push(member);
      }
    }
    queue = next;
  }
  return null;
}

/** Text of gateways without JSON. */
const REFUSING_TEXT =
  /^(?:ERR(?:OR)?\b|FAIL|NOK\b|KO\b|-\d|REJECT|REFUSED|DENIED|INVALID|UNAUTHORI[SZ]ED|FORBIDDEN|AUTH\w* (?:failed|error)|(?:access|permission) denied|bad (?:request|credential)|wrong\b|unknown (?:user|account)|insufficient|not (?:enough|authori[sz]ed|sent)|missing\b)|\bauthori[sz]ation failed\b|\bcould not be sent\b|\berror\b.{0,40}\b(?:\d{1,5}|occurred)\b/i;

function memberSign(name: string, member: unknown): string | null {
  const plain = name.replace(/[^a-z]/gi, "").toLowerCase();
  const text = ["string", "number", "boolean"].includes(typeof member) ? String(member).trim() : null;
  if (ERROR_MEMBER.test(plain)) {
    if (text !== null) return NO_ERROR.test(text) ? null : text;
    return isEmptyValue(member) ? null : (wordsIn(member) ?? JSON.stringify(member).slice(0, MAX_WORDS));
  }
  if (text === null) return null;
  if (YES_MEMBER.test(plain) && /^(?:false|no|0)$/i.test(text)) return `${name}: ${text}`;
  return STATE_MEMBER.test(plain) && text !== "0" && text !== "" && NO.test(text) ? `${name}: ${text}` : null;
}

function isEmptyValue(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value !== "object") return false;
  return Object.values(value).every(isEmptyValue);
}

/** Members with words for people, best first. */
const WORD_MEMBERS =
  "error-text error_text errorText error_message errorMessage error_description error_string message description detail details reason text title error status".split(
    " ",
  );

function wordsIn(value: unknown, depth = 0): string | null {
  if (typeof value === "string") return value.trim() || null;
  if (depth > 6) return null;
  if (Array.isArray(value)) {
    for (const each of value.slice(0, 20)) {
      const words = wordsIn(each, depth + 1);
      if (words !== null) return words;
    }
    return null;
  }
  if (!isRecord(value)) return null;
  const own = WORD_MEMBERS.flatMap((name) => valuesAt(value, name)).find((each) => !NO_ERROR.test(each.trim()));
  if (own !== undefined) return own;
  return wordsIn(
    Object.values(value).filter((each) => typeof each === "object"),
    depth + 1,
  );
}

/** Authentication and server errors would affect other messages as well. */
function refusedStatus(
  { status, headers }: GatewayResponse,
  body: ParsedBody,
  rule: SuccessRule,
  now: number,
): SendResult {
  const words = wordsOf(body, rule, []);
  const reason = sentence("http-status", { status: words === "" ? status : `${status}: ${words}` });
  const isDown = status >= 500 || status === 401 || status === 402 || status === 403;
  const waitMs = Math.min(MAX_RETRY_AFTER_MS, parseRetryAfterMs(headers["retry-after"], now) ?? 0);
  const isBusy = status === 408 || status === 429;
  const retryAfter = (isBusy || isDown) && waitMs > 0 ? { retryAfterMs: waitMs } : {};
  return { taken: false, reason, retryable: isDown || isBusy, down: isDown, ...retryAfter };
}

function refusedBody(body: ParsedBody, rule: SuccessRule, refused: readonly string[], count = 1): SendResult {
  if (body.kind === "page" || body.kind === "empty") {
    // Most likely a proxy or a login page: the message was not taken, and another one would not be either.
    const reason =
      body.kind === "empty" ? sentence("empty-response") : sentence("page-response", { title: titleOf(body.text) });
    return { taken: false, reason, retryable: true, down: true };
  }
  const words = wordsOf(body, rule, refused);
  const all = [...refused, words].join("\n");
  const isAccount = refused.some((each) => matches(rule.account, each)) || ACCOUNT_WORDS.test(words);
  const isTemporary =
    refused.some((each) => matches(rule.temporary, each)) ||
    matches(rule.temporary, words) ||
    TEMPORARY_WORDS.test(all);
  const reason =
    refused.length < count
      ? sentence("parts-refused", { refused: refused.length, parts: count, detail: words })
      : sentence("gateway-refused", { detail: words });
  return { taken: false, reason, retryable: isAccount || isTemporary, down: isAccount };
}

function wordsOf(body: ParsedBody, rule: SuccessRule, refused: readonly string[]): string {
  const given = rule.reason === null ? [] : valuesAtFirst(body.value, rule.reason);
  const isText = body.kind === "text" || body.kind === "empty";
  const page = body.kind === "page" ? `a web page${titleOf(body.text)}` : "";
  const found = [...new Set(given)].join("; ") || page || (isText ? body.text : (wordsIn(body.value) ?? ""));
  const code = refused.find((each) => each !== "" && each.length <= 20 && !found.includes(each));
  const words = oneLine(found || body.text).slice(0, MAX_WORDS);
  return rule.path !== null && code !== undefined && !isText ? `${words} (${code})` : words;
}

function titleOf(page: string): string {
  const title = /<title[^>]{0,100}>([^<]{1,200})/i.exec(page.slice(0, 10_000))?.[1];
  return title === undefined ? "" : ` (${oneLine(title)})`;
}

function oneLine(text: string): string {
  return text.slice(0, 1_000).replace(/\s+/g, " ").trim();
}

function isStatusOf(statuses: string, status: number): boolean {
  return statuses.split(",").some((range) => {
    const [from, to = from] = range.split("-").map(Number);
    return from !== undefined && to !== undefined && status >= from && status <= to;
  });
}

import type { Answer } from "./action.ts";
import { filled } from "./authorize-words.ts";
import type { CampaignWords } from "./campaign-words.ts";
import { html, type Markup, plainPage, raw } from "./plain-page.ts";

/** What every page has to know of its words. */
type PageWords = Pick<CampaignWords, "language">;

/** What somebody typed into the form. */
export interface TypedPerson {
  name: string;
  email: string;
  phone: string;
}

/** The form to join a list; `notice` says what was wrong with the last try. */
export function joinPage(
  words: CampaignWords,
  list: string,
  { typed, status = 200, notice = null }: { typed: TypedPerson; status?: number; notice?: string | null },
): Answer {
  const field = (name: keyof TypedPerson, type: string, completes: string): Markup =>
    html`<label for="${name}">${words[name]}</label><input id="${name}" name="${name}" type="${type}" value="${typed[name]}" autocomplete="${completes}"${raw(name === "name" ? "" : ' aria-describedby="hint"')}>`;
  const title = filled(words.joinTitle, { list });
  const alert = notice === null ? raw("") : html`<p role="alert">${notice}</p>`;
  return page(
    words,
    status,
    title,
    html`<p>${filled(words.joinText, { list })}</p>${alert}<form method="post">${field("name", "text", "name")}${field("email", "email", "email")}${field("phone", "tel", "tel")}<small id="hint">${words.hint}</small><button>${words.join}</button></form>`,
  );
}

/** Asks whether to leave a list. */
export function leavePage(words: CampaignWords, list: string): Answer {
  return askingPage(words, filled(words.leaveTitle, { list }), words.leaveText, words.leave);
}

/** Asks one thing, which only a press on the button does: programs that only look at links must not do it for anybody. */
export function askingPage(words: PageWords, title: string, text: string, press: string): Answer {
  return page(words, 200, title, html`<p>${text}</p><form method="post"><button>${press}</button></form>`);
}

/** Says one thing. */
export function tellingPage(words: PageWords, title: string, text: string, status = 200): Answer {
  return page(words, status, title, html`<p role="${status < 400 ? "status" : "alert"}">${text}</p>`);
}

function page({ language }: PageWords, status: number, title: string, content: Markup): Answer {
  const full = html`<h1>${title}</h1>${content}`;
  return plainPage({ language, status, title, content: full, formTargets: "'self'", vary: "Accept-Language" });
}

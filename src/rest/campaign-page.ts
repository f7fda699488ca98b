import type { Answer } from "./action.ts";
import { filled } from "./authorize-words.ts";
import type { CampaignWords } from "./campaign-words.ts";
import { html, type Markup, plainPage, raw } from "./plain-page.ts";

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

/** Asks whether to leave a list: programs that only look at links must not take anybody off. */
export function leavePage(words: CampaignWords, list: string): Answer {
  const content = html`<p>${words.leaveText}</p><form method="post"><button>${words.leave}</button></form>`;
  return page(words, 200, filled(words.leaveTitle, { list }), content);
}

/** Says one thing. */
export function tellingPage(words: CampaignWords, title: string, text: string, status = 200): Answer {
  return page(words, status, title, html`<p role="${status < 400 ? "status" : "alert"}">${text}</p>`);
}

function page({ language }: CampaignWords, status: number, title: string, content: Markup): Answer {
  const full = html`<h1>${title}</h1>${content}`;
  return plainPage({ language, status, title, content: full, formTargets: "'self'", vary: "Accept-Language" });
}

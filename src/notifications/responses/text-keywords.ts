/** A keyword at the beginning of a text message. */
export interface TextKeyword {
  kind: "stop" | "start" | "help";
  /** True for words that never are an answer or a list's tag. */
  isStrict: boolean;
  /** Text after the keyword, such as a list's tag; empty if it only repeats the keyword or is polite. */
  rest: string;
}

/**
 * Words that stop messages in English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Danish, Norwegian,
 * Finnish, Polish, Czech, Turkish, Russian, Ukrainian and Greek, without accents.
 * @source docs/decisions/0752-text-messages.md, Keywords
 */
const STRICT_STOP: ReadonlySet<string> = new Set(
  "stop stopall stopp stopper arret arreter unsubscribe optout abmelden abbestellen desabonner desinscrire desinscription baja desuscribir disiscrivi afmelden uitschrijven avsluta avregistrera avanmald afmeld avmeld wypisz rezygnuje odhlasit ayril iptal стоп відписатися отписаться στοπ".split(
    " ",
  ),
);
const STOP: ReadonlySet<string> = new Set(
  "cancel end quit revoke ende beenden austragen fin fini parar pare alto cancelar cancela annulla annuler ferma basta sair sortir stoppen einde annuleren sluta slutt slut avslutt lopeta koniec anuluj zrusit konec".split(
    " ",
  ),
);
const STRICT_START: ReadonlySet<string> = new Set(["start", "unstop"]);
const START: ReadonlySet<string> = new Set(
  "resume weiter anmelden demarrer reprendre commencer iniciar empezar alta reanudar inizia riprendi iniciar comecar retomar beginnen hervatten starta borja aloita wznow zacznij pokracovat basla старт начать почати εναρξη".split(
    " ",
  ),
);
const HELP: ReadonlySet<string> = new Set(
  "help info hilfe aide ayuda aiuto ajuda hulp hjalp hjelp hjaelp apua pomoc yardim помощь допомога βοηθεια".split(" "),
);
/** Words after STOP that name no list. */
const FILLERS: ReadonlySet<string> = new Set(
  "all alle alles everything please bitte it now sms texts text messages message nachrichten tout todo todos tutto tudo svp por favor per favore allt allemaal danke thanks sending me".split(
    " ",
  ),
);
const OPT_OUT = /^(?:opt out|de inscription|des inscription)\b/;

/** The keyword of a text; null for any other text. START and HELP stand without further words. */
export function textKeyword(text: string): TextKeyword | null {
  const normalized = normalizeText(text).replace(OPT_OUT, "optout");
  const [word = "", ...rest] = normalized.split(" ");
  if (STRICT_STOP.has(word) || STOP.has(word)) {
    const isStrict = STRICT_STOP.has(word);
    const others = rest.filter((each) => !FILLERS.has(each) && !STRICT_STOP.has(each));
    // "End of the lesson" is no request to stop messages.
    if (others.length > 0 && !isStrict && word !== "cancel" && word !== "end" && word !== "quit") return null;
    return { kind: "stop", isStrict, rest: others.length === 0 ? "" : afterFirstWord(text) };
  }
  if (rest.some((each) => !FILLERS.has(each))) return null;
  if (STRICT_START.has(word) || START.has(word)) return { kind: "start", isStrict: STRICT_START.has(word), rest: "" };
  return HELP.has(word) ? { kind: "help", isStrict: false, rest: "" } : null;
}

/** Words in lower case without accents, punctuation and symbols, separated by one blank. */
export function normalizeText(text: string): string {
  return text
    .slice(0, 500)
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/ß/g, "ss")
    .replace(/[øœ]/g, (letter) => (letter === "ø" ? "o" : "oe"))
    .replace(/æ/g, "ae")
    .replace(/ı/g, "i")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/** The rest as it was written, since tags of lists may contain punctuation. */
function afterFirstWord(text: string): string {
  return text
    .trim()
    .replace(/^[^\p{L}]*\p{L}[\p{L}\p{M}]*[^\p{L}\p{N}]*/u, "")
    .trim();
}

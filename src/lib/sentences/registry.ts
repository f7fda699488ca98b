import { createSentenceFinder, createSentenceRenderer, type SentenceMessages } from "./catalogue.ts";
import { type FoundSentence, readReference, readReferences } from "./reading.ts";
import { type RenderSentence, renderReference, type SentenceReference } from "./reference.ts";
import { CORE_CATALOGUE, type SentenceLanguage, type SentenceOrWords } from "./sentences.ts";

/** Messages of a plugin by language; `en` are those that it writes. */
export type PluginSentences = Readonly<{ en: SentenceMessages }> & Readonly<Record<string, SentenceMessages>>;

/** Reads the sentences of the core and of the installed plugins. */
export interface SentenceReader {
  /** Code and parameters; null for words of a device, a provider or a person. */
  read(text: string): SentenceReference | null;
  /** Texts with their code and parameters, which are null for other words. */
  readAll(texts: readonly string[]): SentenceOrWords[];
  /** What a field of a plugin's configuration is called, in English and by code; null without a label. */
  label(plugin: string, field: string): { text: string; sentence: SentenceReference } | null;
  /** The sentence in another language; other words stay as they are. */
  translate(text: string, language: SentenceLanguage): string;
}

/** A reader to which plugins add their sentences. */
export interface SentenceRegistry extends SentenceReader {
  /** Sets the sentences of a plugin, in place of those of an earlier version. */
  set(plugin: string, sentences: PluginSentences): void;
}

/** Code of a text of several sentences, its parameter `reasons`. */
const REASONS = "plugin.reasons";
const MAX_NAMED_REASONS = 40;
const MAX_NAMED_LENGTH = 10_000;
/** Codes of plugins' sentences: `plugin.<plugin>.<code>`. */
const PLUGIN_PREFIX = "plugin.";
/** Codes of labels: `label.<field>`. They are so short that they would be found in other texts, and are read by code only. */
const LABEL_PREFIX = "label.";

/**
 * Creates a registry that knows the core's sentences. Clients have only the core's catalogue: a reference with a sentence of a
 * plugin contains the translations. @source docs/decisions/0472-sentences-of-plugins.md
 */
export function createSentenceRegistry(): SentenceRegistry {
  const plugins = new Map<
    string,
    { find(text: string): FoundSentence | null; codes: ReadonlySet<string>; render: Map<string, RenderSentence> }
  >();

  const find = (text: string): FoundSentence | null => {
    let best = CORE_CATALOGUE.find(text);
    for (const [name, plugin] of plugins) {
      const found = plugin.find(text);
      if (found && found.words > (best?.words ?? 0)) best = { ...found, code: `${PLUGIN_PREFIX}${name}.${found.code}` };
    }
    return best;
  };
  const rendererOf =
    (language: SentenceLanguage): RenderSentence =>
    (code, params) => {
      if (code === REASONS) return String(params.reasons);
      const [, name = "", own = ""] = /^plugin\.([^.]+)\.(.+)$/.exec(code) ?? [];
      const plugin = plugins.get(name);
      const render = plugin?.render.get(language) ?? plugin?.render.get("en");
      return render ? render(own, params) : CORE_CATALOGUE.render[language](code, params);
    };
  const render: Readonly<Record<SentenceLanguage, RenderSentence>> = { en: rendererOf("en"), de: rendererOf("de") };

  /** A text may consist of several sentences: the reasons of a plugin are separated by semicolons. */
  function readReasons(text: string): SentenceReference | null {
    const reasons = readReferences(find, text) ?? readNamedReasons(text);
    const [first, ...more] = reasons ?? [];
    if (typeof first === "object" && more.length === 0) return first;
    return reasons && { code: REASONS, params: { reasons } };
  }
  /** Reasons with the name of what they are of, such as that of a channel; some may be other words. */
  function readNamedReasons(text: string): (SentenceReference | string)[] | null {
    const parts = text.length > MAX_NAMED_LENGTH ? [] : text.split("; ", MAX_NAMED_REASONS);
    const found = parts.flatMap((part, at) => {
      const [, name = "", reason = ""] = /^([^:]{1,100}: )(.+)$/s.exec(part) ?? [];
      const whole = readReference(find, part);
      const read = whole === null ? [name, readReference(find, reason) ?? reason] : [whole];
      const words = read.every((each) => typeof each === "string") ? [part] : read;
      return at === 0 ? words : ["; ", ...words];
    });
    const isComplete = parts.join("; ") === text;
    return isComplete && found.some((each) => typeof each === "object") ? found : null;
  }
  function read(text: string): SentenceReference | null {
    const found = readReasons(text);
    if (found === null || !namesPlugin(found)) return found;
    return { ...found, translations: { de: renderReference(found, render.de) } };
  }

  return {
    set(plugin, sentences) {
      const languages = Object.entries(sentences);
      const found = Object.entries(sentences.en).filter(([code]) => !code.startsWith(LABEL_PREFIX));
      plugins.set(plugin, {
        find: createSentenceFinder(Object.fromEntries(found)),
        codes: new Set(Object.keys(sentences.en)),
        render: new Map(
          languages.map(([tag, messages]) => [tag, createSentenceRenderer(tag, { ...sentences.en, ...messages })]),
        ),
      });
    },
    read,
    readAll: (texts) => texts.map((text) => ({ text, ...(read(text) ?? { code: null, params: null }) })),
    label(plugin, field) {
      const own = `${LABEL_PREFIX}${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
      if (!plugins.get(plugin)?.codes.has(own)) return null;
      const code = `${PLUGIN_PREFIX}${plugin}.${own}`;
      return {
        text: render.en(code, {}),
        sentence: { code, params: {}, translations: { de: render.de(code, {}) } },
      };
    },
    translate(text, language) {
      if (language === "en") return text;
      const found = readReasons(text);
      return found === null ? text : renderReference(found, render[language]);
    },
  };
}

/** Whether a sentence, or one within it, is a plugin's. */
function namesPlugin({ code, params }: SentenceReference): boolean {
  if (code.startsWith(PLUGIN_PREFIX)) return true;
  return Object.values(params).some(
    (value) => typeof value === "object" && value.some((part) => typeof part === "object" && namesPlugin(part)),
  );
}

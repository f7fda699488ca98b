/**
 * Languages of the lexicon and of the default voices.
 * @source docs/decisions/0042-api-contract.md, `/v1/tts-lexicons`
 */
export const TTS_LANGUAGES = ["arb", "de-DE", "en-US", "es-US", "en-GB", "fr-CA", "fr-FR", "pt-BR"] as const;

import { useTranslation } from "../../i18n/use-translation.tsx";

const KEYS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"] as const;
const MAX_DIGITS = 12;

/**
 * PIN entry by touch or keyboard; digits are never shown. Tab skips the digit buttons: twelve more stops would lie
 * between the PIN and the start.
 */
export function PinPad({ pin, onChange }: { pin: string; onChange: (pin: string) => void }) {
  const { t } = useTranslation();
  const put = (next: string) => onChange(next.replace(/\D/g, "").slice(0, MAX_DIGITS));
  return (
    <fieldset className="pin-pad">
      <legend>{t("start.pin")}</legend>
      <input
        type="password"
        inputMode="numeric"
        autoComplete="off"
        aria-label={t("start.pin")}
        value={pin}
        onChange={(event) => put(event.currentTarget.value)}
      />
      <div className="pin-keys">
        {KEYS.map((key) => (
          <button key={key} type="button" tabIndex={-1} onClick={() => put(pin + key)}>
            {key}
          </button>
        ))}
        <button type="button" tabIndex={-1} aria-label={t("start.pin-clear")} onClick={() => put("")}>
          {"✕"}
        </button>
        <button type="button" tabIndex={-1} onClick={() => put(`${pin}0`)}>
          {"0"}
        </button>
        <button type="button" tabIndex={-1} aria-label={t("start.pin-back")} onClick={() => put(pin.slice(0, -1))}>
          {"⌫"}
        </button>
      </div>
    </fieldset>
  );
}

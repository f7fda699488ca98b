import { Button } from "@mantine/core";
import { useTranslation } from "../../i18n/use-translation.tsx";

interface PartHeadProps {
  title: string;
  at: number;
  count: number;
  onMove(to: number): void;
  /** Not there for one that must stay. */
  onRemove?: (() => void) | undefined;
}

/** What an element of a list within a form is called, with the ways to move it and to take it away. */
export function ItemHeader({ title, at, count, onMove, onRemove }: PartHeadProps) {
  const { t } = useTranslation();
  return (
    <>
      <legend className="visually-hidden">{title}</legend>
      <div className="row">
        <strong className="grow" aria-hidden="true">
          {title}
        </strong>
        {count > 1 && (
          <>
            <Button
              variant="default"
              size="compact-sm"
              disabled={at === 0}
              aria-label={t("part.up", { title })}
              onClick={() => onMove(at - 1)}
            >
              {"↑"}
            </Button>
            <Button
              variant="default"
              size="compact-sm"
              disabled={at === count - 1}
              aria-label={t("part.down", { title })}
              onClick={() => onMove(at + 1)}
            >
              {"↓"}
            </Button>
          </>
        )}
        {onRemove && (
          <Button
            variant="default"
            size="compact-sm"
            aria-label={t("remove.named", { word: t("remove"), name: title })}
            onClick={onRemove}
          >
            {t("remove")}
          </Button>
        )}
      </div>
    </>
  );
}

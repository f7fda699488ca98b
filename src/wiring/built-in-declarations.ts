/** Every file of the folder, by its path. A module of its own, so that only those load it who need it. */
export const BUILT_IN_DECLARATION_MODULES: Readonly<Record<string, unknown>> = import.meta.glob(
  "../resources/**/*.ts",
  {
    eager: true,
  },
);

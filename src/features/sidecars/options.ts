import { isDnsLabel } from "../../api/dns-names.ts";
import { choice, duration, type Option } from "../../options.ts";

export const failurePolicy = choice(["Ignore", "Fail"], {
  name: "sidecars-failure-policy",
  about: "what becomes of a Pod while no webhook answers; Fail leaves kube-system out",
  fallback: "Ignore",
});

export const defaultNamespace: Option<string> = {
  name: "sidecars-default-namespace",
  value: "<name>",
  about: "where a pull secret is that a SidecarSet names without a namespace",
  fallback: "default",
  parse(given) {
    if (isDnsLabel(given)) return given;
    throw new Error(`${JSON.stringify(given)} is not a name of a namespace`);
  },
};

export const idleCopies = duration({
  name: "sidecars-idle-copies",
  about: "how long a copy stays in a namespace after the last Pod that needs it, e.g. 1h30m",
  fallback: 3_600_000,
  fallbackText: "1h",
});

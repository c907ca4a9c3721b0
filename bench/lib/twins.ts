/** What a bare client writes beside copies: as large as these, and marked as richly, so that the API server has the same work. */

export const twinAnnotations = (mark: string) => ({
  "bench.example.com/owner": "SecretSync/fanout-00",
  "bench.example.com/source": "default/source",
  "bench.example.com/self": "ns-000/bare",
  "bench.example.com/fingerprint": mark.padEnd(43, "."),
});

interface Content {
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
}

export const twinPatch = ({ type, data }: Content, mark: string, resourceVersion: string) => [
  { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
  ...["fingerprint", "source"].map((name) => ({
    op: "add",
    path: `/metadata/annotations/bench.example.com~1${name}`,
    value: name === "source" ? "default/source" : mark.padEnd(43, "."),
  })),
  { op: "add", path: "/type", value: type },
  { op: "add", path: "/data", value: data },
];

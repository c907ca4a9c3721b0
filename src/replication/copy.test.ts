import assert from "node:assert/strict";
import { test } from "node:test";
import { fingerprintAnnotation, ownerAnnotation, sourceAnnotation } from "../api/marks.ts";
import { copyRecordOf } from "./copy.ts";

test("a mark that is longer than any of ours takes no memory", () => {
  const [longest, tooLong] = [1024, 1025].map((length) => "x".repeat(length));
  const annotations = {
    [ownerAnnotation]: longest ?? "",
    [sourceAnnotation]: tooLong ?? "",
    [fingerprintAnnotation]: "print",
    "example.com/theirs": "x",
  };
  const metadata = { namespace: "app", name: "copy", uid: "1", resourceVersion: "1", creationTimestamp: "" };
  assert.deepEqual(copyRecordOf({ metadata: { ...metadata, annotations } }).metadata.annotations, {
    [ownerAnnotation]: longest,
    [fingerprintAnnotation]: "print",
  });
});

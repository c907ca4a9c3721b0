/** What follows from an object that never changes is worked out once, and kept for as long as the object is; all but `undefined`. */
export function onceFor<K extends WeakKey, T>(work: (object: K) => T): (object: K) => T {
  const known = new WeakMap<K, T>();
  return (object) => {
    const found = known.get(object);
    if (found !== undefined) return found;
    const result = work(object);
    known.set(object, result);
    return result;
  };
}

const maxLength = 4_096;

/** What equal texts mean is worked out and kept once, for the latest and shorter ones: anyone may have written them. */
export function sharing<T>(read: (text: string) => T, { maxKept = 256 } = {}): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    if (text.length > maxLength) return read(text);
    const found = known.get(text);
    if (found !== undefined) return found;
    const meaning = read(text);
    const [oldest] = known.keys();
    if (known.size >= maxKept && oldest !== undefined) known.delete(oldest);
    known.set(text, meaning);
    return meaning;
  };
}

/** Words of others, in a status or an event: long enough to tell, short enough to fit. */
export const cut = (words: string, length: number): string =>
  words.length > length ? `${words.slice(0, length - 1)}…` : words;

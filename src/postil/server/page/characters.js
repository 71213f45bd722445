// Places in texts. The server counts characters (code points), as Python does; JavaScript counts halves of those beyond
// the basic plane, such as emoji. Every view that cuts a text at places of an answer does so here.

const HALVES = /[\ud800-\udfff]/;

/** A text as characters: {length, slice(start, end)}, with the places that the server means. */
export function characters(text) {
  if (!HALVES.test(text)) return { length: text.length, slice: (start, end) => text.slice(start, end) };
  const places = [0];
  for (const one of text) places.push(places.at(-1) + one.length);
  const at = (place) => places[Math.min(place, places.length - 1)];
  return { length: places.length - 1, slice: (start, end = places.length - 1) => text.slice(at(start), at(end)) };
}

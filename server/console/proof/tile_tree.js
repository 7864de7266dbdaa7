/**
 * The Merkle tree of the log (RFC 6962), computed in the browser from the tiles that the service reads out (c2sp.org/tlog-tiles).
 * Nothing of a tile is believed: what is computed from it is compared with a root that was signed, or that this browser has kept.
 */
import { isEqual, sha256 } from './bytes.js';

const TILE_BITS = 8;
const TILE_WIDTH = 256;
const HASH_BYTES = 32;
const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

/** A tile that isn't there, or isn't what a tile of its place can be. */
export class MissingTile extends Error {
  /** @param {string} path @param {string} why */
  constructor(path, why) {
    super(`${path}: ${why}`);
    this.path = path;
  }
}

/** The hash of a leaf. @param {Uint8Array} entry */
export const leafOf = (entry) => sha256(LEAF, entry);
/** @param {Uint8Array} left @param {Uint8Array} right */
const nodeOf = (left, right) => sha256(NODE, left, right);

/** @param {number | 'entries'} level @param {number} number @param {number} width */
function tilePath(level, number, width) {
  const digits = (/** @type {number} */ part) => String(part % 1000).padStart(3, '0');
  let path = digits(number);
  for (let left = Math.floor(number / 1000); left > 0; left = Math.floor(left / 1000)) path = `x${digits(left)}/${path}`;
  return `tile/${level}/${path}${width < TILE_WIDTH ? `.p/${width}` : ''}`;
}

/** The largest power of two below `size`. */
export function splitOf(/** @type {number} */ size) {
  let half = 1;
  while (half * 2 < size) half *= 2;
  return half;
}

export class TileTree {
  /** @param {number} size leaves @param {(path: string) => Promise<Uint8Array>} readTile throws MissingTile */
  constructor(size, readTile) {
    this.size = size;
    this.readTile = readTile;
    this.tiles = /** @type {Map<string, Promise<Uint8Array>>} */ (new Map());
  }

  /** Returns the bytes of a tile in the width that it has in this tree. @param {number | 'entries'} level @param {number} number */
  tile(level, number) {
    const hashes = Math.floor(this.size / 2 ** (TILE_BITS * (level === 'entries' ? 0 : level)));
    const width = Math.min(TILE_WIDTH, hashes - number * TILE_WIDTH);
    const path = tilePath(level, number, width);
    let bytes = this.tiles.get(path);
    if (!bytes) {
      bytes = this.readTile(path).then((read) => {
        if (level !== 'entries' && read.length !== width * HASH_BYTES) throw new MissingTile(path, 'has another length');
        return read;
      });
      this.tiles.set(path, bytes);
    }
    return bytes;
  }

  /** Returns the hash of the whole subtree of 2 ** level leaves. @param {number} level @param {number} index */
  async node(level, index) {
    const tileLevel = Math.floor(level / TILE_BITS);
    const count = 2 ** (level % TILE_BITS);
    const first = index * count;
    const bytes = await this.tile(tileLevel, Math.floor(first / TILE_WIDTH));
    const begin = (first % TILE_WIDTH) * HASH_BYTES;
    let hashes = Array.from({ length: count }, (_, at) => bytes.slice(begin + at * HASH_BYTES, begin + (at + 1) * HASH_BYTES));
    while (hashes.length > 1) {
      const pairs = hashes;
      hashes = await Promise.all(Array.from({ length: pairs.length / 2 }, (_, at) => nodeOf(pairs[2 * at], pairs[2 * at + 1])));
    }
    return hashes[0];
  }

  /**
   * Returns the hash of the leaves begin … end - 1, from hashes of whole subtrees of which none is cut by `isCut`.
   * @param {number} begin @param {number} end @param {(begin: number, end: number) => boolean} isCut
   * @param {(index: number) => Uint8Array | null} known a leaf that isn't taken from a tile @returns {Promise<Uint8Array>}
   */
  async hash(begin, end, isCut = () => false, known = () => null) {
    const size = end - begin;
    if (size === 0) return sha256();
    const leaf = size === 1 ? known(begin) : null;
    if (leaf) return leaf;
    const level = Math.log2(size);
    if (Number.isInteger(level) && !isCut(begin, end)) return this.node(level, begin / size);
    const middle = begin + splitOf(size);
    const [left, right] = await Promise.all([this.hash(begin, middle, isCut, known), this.hash(middle, end, isCut, known)]);
    return nodeOf(left, right);
  }

  /**
   * Returns the roots of this tree and of its first `size` leaves, both computed from the same hashes:
   * if the first is right, so is the second (RFC 6962, 2.1.2).
   */
  async roots(/** @type {number} */ size) {
    const isCut = (/** @type {number} */ begin, /** @type {number} */ end) => begin < size && size < end;
    return { whole: await this.hash(0, this.size, isCut), part: await this.hash(0, size) };
  }

  /** Returns the root of this tree with `leaf` in the place `index`. @param {number} index @param {Uint8Array} leaf */
  rootWith(index, leaf) {
    return this.hash(0, this.size, (begin, end) => begin <= index && index < end, (at) => (at === index ? leaf : null));
  }

  /** Returns what the leaf at `index` is the hash of: the header of the record and the digest of its payload. */
  async entry(/** @type {number} */ index) {
    const number = Math.floor(index / TILE_WIDTH);
    const bundle = await this.tile('entries', number);
    let at = 0;
    for (let left = index % TILE_WIDTH; ; --left) {
      const length = at + 2 <= bundle.length ? bundle[at] * 256 + bundle[at + 1] : bundle.length;
      if (at + 2 + length > bundle.length) throw new MissingTile(tilePath('entries', number, TILE_WIDTH), 'ends early');
      if (left === 0) return bundle.slice(at + 2, at + 2 + length);
      at += 2 + length;
    }
  }
}

/** Returns whether an entry is the leaf at `index` of the tree whose root is `root`. @param {TileTree} tree @param {number} index @param {Uint8Array} entry @param {Uint8Array} root */
export const isIncluded = async (tree, index, entry, root) => isEqual(await tree.rootWith(index, await leafOf(entry)), root);

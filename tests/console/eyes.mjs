// Looks at a page as those do who see it otherwise than most: what nobody can reach, what covers what, what moves, and what
// only a ground or a colour tells. All of it runs in the page, and returns faults as text.

/** Of a text that is cut with an ellipsis, so much has to be left; the whole stands where it leads, or in its title. */
const LEFT_OF_A_CUT_PX = 24;
/** Through a lower window nobody reads a list. */
const SCROLLER_PX_MIN = 40;
/** Lines of text may touch each other by as much. */
const TOUCH_PX = 3;
/** Two of the picture. */
const FRAME_MS = 34;
/** Of what is drawn against its ground (WCAG 1.4.11). */
const DRAWN_CONTRAST_MIN = 3;

const LIMITS = { LEFT_OF_A_CUT_PX, SCROLLER_PX_MIN, TOUCH_PX, FRAME_MS, DRAWN_CONTRAST_MIN };

function install(limits) {
  const CONTROLS = 'a[href], button, input, select, textarea, summary, canvas, img';
  const isSeen = (element) => element.checkVisibility({ checkVisibilityCSS: true, contentVisibilityAuto: true }) && !element.closest('.unseen, .skip');
  const scrolls = (value) => value === 'auto' || value === 'scroll';
  const nameOf = (element) => `${element.tagName.toLowerCase()}${[...element.classList].map((name) => `.${name}`).join('')}`;
  const wordsOf = ({ element, text }) => `“${text.trim().replace(/\s+/g, ' ').slice(0, 30)}” of ${nameOf(element)} in ${nameOf(element.parentElement)}`;

  /** The boxes around an element that cut or scroll what is in them, the innermost first. */
  function* boxesAround(element) {
    for (let box = element; box && box !== document.body; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
      const { left, top } = box.getBoundingClientRect();
      const x = left + box.clientLeft;
      const y = top + box.clientTop;
      yield { box, style, left: x, top: y, right: x + box.clientWidth, bottom: y + box.clientHeight };
    }
  }

  const both = (one, other) => ({
    left: Math.max(one.left, other.left), top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right), bottom: Math.min(one.bottom, other.bottom),
  });

  /** Each line of each text and each control that is painted: its element, its text and its rectangle. */
  function* pieces() {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      const element = node.parentElement;
      // On a phone the list of runs has only the mark of a status, whose shape says the same.
      if (!node.data.trim() || !isSeen(element) || element.closest('option, .c-status')) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) if (rect.width > 0 && rect.height > 0) yield { element, node, text: node.data, rect, isText: true };
    }
    for (const element of document.querySelectorAll(CONTROLS)) {
      if (isSeen(element)) yield { element, text: element.getAttribute('aria-label') ?? element.textContent, rect: element.getBoundingClientRect(), isText: false };
    }
  }

  /** Why a piece can't be reached however one scrolls, or nothing. */
  function cutOf({ element, rect, isText }) {
    let { left, top, right, bottom } = rect;
    for (const frame of boxesAround(isText ? element : element.parentElement)) {
      const { box, style } = frame;
      const begin = { x: frame.left - box.scrollLeft, y: frame.top - box.scrollTop };
      if (scrolls(style.overflowX)) {
        if (left < begin.x - 1 || right > begin.x + box.scrollWidth + 1) return `beside ${nameOf(box)}`;
        [left, right] = [Math.max(left, frame.left), Math.min(right, frame.right)];
      } else if (left < frame.left - 1 || right > frame.right + 1) {
        const isLeft = style.textOverflow === 'ellipsis' && Math.min(right, frame.right) - Math.max(left, frame.left) >= limits.LEFT_OF_A_CUT_PX;
        if (!isLeft) return `cut by ${nameOf(box)}`;
        if (isText && !element.closest('[title], a[href]')) return `cut by ${nameOf(box)}, and nowhere whole`;
        right = Math.min(right, frame.right);
      }
      if (scrolls(style.overflowY)) {
        if (top < begin.y - 1 || bottom > begin.y + box.scrollHeight + 1) return `above or below ${nameOf(box)}`;
        [top, bottom] = [Math.max(top, frame.top), Math.min(bottom, frame.bottom)];
      } else if (style.overflowY !== 'visible' && (top < frame.top - 2 || bottom > frame.bottom + 2)) {
        return `cut by ${nameOf(box)}`;
      }
    }
    const { scrollHeight } = document.documentElement;
    return left < -1 || right > innerWidth + 1 || top + scrollY < -1 || bottom + scrollY > scrollHeight + 1 ? 'outside of the window' : '';
  }

  const unreachable = () => [...pieces()].map((piece) => [piece, cutOf(piece)]).filter(([, why]) => why).map(([piece, why]) => `${wordsOf(piece)} is ${why}`);

  /** Boxes that scroll, and are too small to see anything in them; and those of the page itself that scroll sideways. */
  function narrow() {
    const found = [];
    for (const box of document.querySelectorAll('body *')) {
      const { overflowY } = getComputedStyle(box);
      if (!isSeen(box)) continue;
      if (scrolls(overflowY) && box.scrollHeight > box.clientHeight + 1 && box.clientHeight < limits.SCROLLER_PX_MIN) found.push(`${nameOf(box)} shows ${box.clientHeight} of ${box.scrollHeight} px`);
    }
    for (const page of [document.documentElement, document.querySelector('main')]) {
      if (page.scrollWidth > page.clientWidth) found.push(`${nameOf(page)} is ${page.scrollWidth - page.clientWidth} px too wide`);
    }
    return found;
  }

  /** Notes the controls of a wide window. */
  function noteControls() {
    globalThis.controlsBefore = [...document.querySelectorAll(CONTROLS)].filter(isSeen);
  }

  /** Those that aren't there any more; of two links to the same place one is enough. */
  function gone() {
    const links = new Set([...document.querySelectorAll('a[href]')].filter(isSeen).map(({ href }) => href));
    return globalThis.controlsBefore.filter((control) => control.isConnected && !isSeen(control) && !links.has(control.href))
      .map((control) => `${nameOf(control)} ${control.getAttribute('aria-label') ?? control.textContent.trim()} is gone`);
  }

  /** Pairs of texts that cover each other: within what scrolls wherever they are, else where they are now. */
  function covered() {
    const all = [...pieces()].filter(({ isText, element }) => isText && !element.closest('.bar-track')).map((piece) => {
      let [whole, seen, scroller] = [piece.rect, piece.rect, null];
      for (const frame of boxesAround(piece.element)) {
        seen = both(seen, frame);
        if (scroller) continue;
        if (scrolls(frame.style.overflowX) || scrolls(frame.style.overflowY)) scroller = frame.box;
        else whole = both(whole, frame);
      }
      return { ...piece, whole, seen, scroller };
    }).sort((one, other) => one.whole.top - other.whole.top);
    const overlap = (one, other) => {
      const { left, top, right, bottom } = both(one, other);
      return right - left > limits.TOUCH_PX && bottom - top > limits.TOUCH_PX;
    };
    const found = [];
    for (const [at, one] of all.entries()) {
      // What is cut with an ellipsis has its whole line and what is left of it.
      for (const other of all.slice(at + 1).filter(({ node }) => node !== one.node)) {
        if (one.scroller === other.scroller ? overlap(one.whole, other.whole) : overlap(one.seen, other.seen)) found.push(`${wordsOf(one)} lies on ${wordsOf(other)}`);
      }
    }
    return found;
  }

  /** What would move if it changed, and what moves now. */
  function moving() {
    const msOf = (list) => Math.max(...list.split(',').map((each) => parseFloat(each) * (each.trim().endsWith('ms') ? 1 : 1000)));
    const found = document.getAnimations().filter(({ effect }) => effect.getComputedTiming().activeDuration > limits.FRAME_MS)
      .map(({ effect }) => `${nameOf(effect.target)} moves`);
    for (const element of document.querySelectorAll('*')) {
      for (const part of [null, '::before', '::after']) {
        const style = getComputedStyle(element, part);
        const isMoving = msOf(style.transitionDuration) > limits.FRAME_MS || (style.animationName !== 'none' && msOf(style.animationDuration) > limits.FRAME_MS);
        if (isMoving || style.scrollBehavior === 'smooth') found.push(`${nameOf(element)}${part ?? ''} would move`);
      }
    }
    return [...new Set([...found, ...globalThis.moved ?? []])];
  }

  const EDGES = ['Top', 'Right', 'Bottom', 'Left'];
  const isClear = (colour) => /^rgba\(.*, 0\)$|\/ 0\)$/.test(colour);
  const groundOf = (element) => {
    const { backgroundColor } = getComputedStyle(element);
    const parent = element.parentElement;
    return isClear(backgroundColor) && parent ? groundOf(parent) : backgroundColor;
  };
  const edgesOf = (style) => EDGES.filter((edge) => parseFloat(style[`border${edge}Width`]) > 0 && !isClear(style[`border${edge}Color`]) && style[`border${edge}Style`] !== 'none');
  const surface = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const lightOf = (colour) => {
    surface.fillStyle = colour;
    surface.fillRect(0, 0, 1, 1);
    const [red, green, blue] = [...surface.getImageData(0, 0, 1, 1).data].map((value) => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [low, high] = [lightOf(one), lightOf(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };

  /** What is drawn with a ground or an edge and has no text: in groups of one kind, with how each looks. */
  function drawings() {
    const kinds = new Map();
    for (const element of document.querySelectorAll('main i, footer i, main .lease')) {
      const { width, height } = element.getBoundingClientRect();
      if (element.textContent.trim() || !isSeen(element) || width < 1 || height < 1) continue;
      const style = getComputedStyle(element);
      const look = [style.backgroundColor, style.backgroundImage, ...edgesOf(style).map((edge) => `${style[`border${edge}Color`]} ${style[`border${edge}Style`]}`)].join(' ');
      const kind = `${nameOf(element.parentElement)} ${nameOf(element)}`.replace(/\.tone-\w+/g, '');
      if (!kinds.has(kind)) kinds.set(kind, { looks: new Set(), elements: [] });
      kinds.get(kind).looks.add(look);
      kinds.get(kind).elements.push(element);
    }
    return kinds;
  }

  /** Notes how many looks each kind of drawing has, before the system's own colours take the page's away. */
  function noteDrawings() {
    globalThis.looksBefore = new Map([...drawings()].map(([kind, { looks }]) => [kind, looks.size]));
  }

  /** Drawings that can't be seen, or told from others, any more. */
  function drawnAlike() {
    const found = [];
    for (const [kind, { looks, elements }] of drawings()) {
      const before = globalThis.looksBefore.get(kind) ?? 1;
      if (looks.size < before) found.push(`${kind} has ${looks.size} looks of ${before}`);
      for (const element of elements) {
        const style = getComputedStyle(element);
        const ground = groundOf(element.parentElement);
        const colours = [style.backgroundColor, ...edgesOf(style).map((edge) => style[`border${edge}Color`])].filter((colour) => !isClear(colour));
        if (style.backgroundImage === 'none' && !colours.some((colour) => contrast(colour, ground) >= limits.DRAWN_CONTRAST_MIN)) found.push(`${kind} isn’t seen`);
      }
    }
    return [...new Set(found)];
  }

  /** What is chosen among others, and doesn't look so. */
  function chosenAlike() {
    const lookOf = (element) => {
      const style = getComputedStyle(element);
      return [style.color, style.backgroundColor, style.fontWeight, style.textDecorationLine, style.outlineStyle, ...edgesOf(style).map((edge) => `${edge} ${style[`border${edge}Color`]} ${style[`border${edge}Style`]}`)].join(' ');
    };
    const CHOSEN = '[aria-selected="true"], [aria-current], [aria-pressed="true"], .selected';
    const found = [];
    for (const element of document.querySelectorAll(CHOSEN)) {
      const other = [...element.parentElement.children].find((each) => each.tagName === element.tagName && !each.matches(CHOSEN));
      if (isSeen(element) && other && isSeen(other) && lookOf(element) === lookOf(other)) found.push(`${nameOf(element)} in ${nameOf(element.parentElement)} looks as if it weren’t chosen`);
    }
    return [...new Set(found)];
  }

  /** Charts of which no line has a colour, though there is a legend of colours beside it. */
  function colourless() {
    return [...document.querySelectorAll('main canvas')].filter((canvas) => {
      const { width, height } = canvas;
      if (!width || !height) return false;
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
      const painted = Array.from({ length: data.length / 4 }, (_, at) => [...data.slice(4 * at, 4 * at + 4)]).filter(([, , , alpha]) => alpha > 200);
      return painted.length > 0 && !painted.some(([red, green, blue]) => Math.max(red, green, blue) - Math.min(red, green, blue) > 40);
    }).map((canvas) => `${nameOf(canvas.parentElement)} has no colour`);
  }

  globalThis.eyes = { unreachable, narrow, noteControls, gone, covered, moving, noteDrawings, drawnAlike, chosenAlike, colourless };
}

/** Gives every page of a visitor these eyes. */
export async function openEyes(visitor) {
  await visitor.addInitScript(install, LIMITS);
  await visitor.addInitScript((frameMs) => {
    globalThis.moved = [];
    const note = ({ type, target }) => globalThis.moved.push(`${type} of ${target.className || target.tagName}`);
    for (const type of ['transitionrun', 'animationstart']) document.addEventListener(type, note, true);
  }, FRAME_MS);
}

/** Returns the faults that these of the eyes find. */
export const look = (page, ...names) => page.evaluate((wanted) => wanted.flatMap((name) => globalThis.eyes[name]()), names);

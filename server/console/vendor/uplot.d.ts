export default class uPlot {
  constructor(options: any, data: any[], parent: Element);
  setData(data: any[]): void;
  setSize(size: { width: number; height: number }): void;
  destroy(): void;
}

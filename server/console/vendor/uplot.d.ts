export default class uPlot {
  static paths: any;
  constructor(options: any, data: any[], parent: Element);
  setData(data: any[]): void;
  setSize(size: { width: number; height: number }): void;
  destroy(): void;
}

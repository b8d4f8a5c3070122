/** uPlot with its styles: loaded when the first chart is drawn. */
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export { uPlot };

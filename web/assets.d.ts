/** What Vite lets a module import beside code. */
declare module '*.css';
